#!/bin/sh
# Unpacks qbittorrent-nox of a newer Debian, with the libraries it needs, beside what is installed.
# Usage: newer_qbittorrent.sh SUITE FOLDER; afterwards FOLDER/bin/qbittorrent-nox runs. Nothing is
# installed: apt-get only downloads, from the place this machine gets its own packages from.
set -eu
suite=$1 folder=$2
site=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/*$') || {
  echo "this machine gets no packages from Debian" >&2
  exit 1
}
rm -rf "$folder"
mkdir -p "$folder/lists/partial" "$folder/archives/partial" "$folder/root" "$folder/bin"
: > "$folder/status"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keys] $site $suite main" > "$folder/sources.list"
cat > "$folder/apt.conf" <<EOF
Dir::State::status "$folder/status";
Dir::State::lists "$folder/lists";
Dir::Cache::archives "$folder/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Etc::sourcelist "$folder/sources.list";
Dir::Etc::sourceparts "-";
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Languages "none";
EOF
export APT_CONFIG="$folder/apt.conf"
apt-get -qq update
apt-get -qq -y --download-only install qbittorrent-nox
for package in "$folder"/archives/*.deb; do
  dpkg -x "$package" "$folder/root"
done
rm -rf "$folder/archives" "$folder/lists"
loader=$(find "$folder/root" -name 'ld-linux-*.so.*' -type f | head -n 1)
libraries=$(dirname "$loader")
cat > "$folder/bin/qbittorrent-nox" <<EOF
#!/bin/sh
QT_PLUGIN_PATH=$libraries/qt6/plugins exec $loader --library-path $libraries:$libraries/libproxy \\
  $folder/root/usr/bin/qbittorrent-nox "\$@"
EOF
chmod +x "$folder/bin/qbittorrent-nox"
"$folder/bin/qbittorrent-nox" --version
