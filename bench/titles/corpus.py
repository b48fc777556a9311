"""Release titles made up for the bench: the same ones for the same seed."""

import random

_SHOWS = (
    ("雾海列车", "Mukai Ressha"),
    ("银糖师与黑船", "Ginsato-shi to Kurofune"),
    ("海边日常", "Umibe no Nichijou"),
    ("来日再会", "Rainichi Saikai"),
    ("星屑四重奏", "Hoshikuzu Quartet"),
    ("窗边的灯", "Madobe no Akari"),
    ("四季之海", "Shiki no Umi"),
    ("哥布林猎人", "Goblin Hunter"),
)
_GROUPS = ("晨星字幕组", "北港字幕社", "MistHouse", "Lantern", "TidE", "樱岛字幕组", "Buoy-Raws")
_LABELS = (
    "简日双语",
    "繁日雙語",
    "简繁内封",
    "简体内嵌",
    "繁體內嵌",
    "简繁日内封字幕",
    "GB_JP",
    "BIG5",
)
_SHAPES = (
    "[{group}&MistHouse] {zh} / {en} - {number:02} [WebRip 1080p HEVC-10bit AAC][{label}]",
    "[{group}] {zh} 第{season}季 / {en} S{season} [{number:02}][1080p][{label}]",
    "【{group}】★07月新番★[{zh} / {en}][{number:02}][1080p][{label}][招募翻译]",
    "[{group}] {zh} / {en} [01-{number:02} 合集][WebRip 1080p HEVC-10bit AAC][{label}][Fin]",
    "[{group}] {en} /  {zh} - {number:02} [1080P][Baha][WEB-DL][AAC AVC][CHT][MP4]",
    "[{group}][{zh}][{en}][2018][{number:02}v2][1080p][AVC][BIG5][MP4-AAC]",
    "[{group}] {en} - {number:02} (1080p) [{sum:08X}].mkv",
    "[{group}]_{under}_-_{number:02}_[1280x720_H.264_AAC][{sum:08X}].mkv",
    "{dots}.S{season:02}E{number:02}.1080p.CR.WEB-DL.AAC2.0.H.264-GRP.mkv",
    "[{group}] {en} Season {season} - {number:02} [1080p][Multiple Subtitle].mkv",
)


def titles(count: int, seed: int) -> list[str]:
    luck = random.Random(seed)
    return [_title(luck) for _ in range(count)]


def _title(luck: random.Random) -> str:
    zh, en = luck.choice(_SHOWS)
    return luck.choice(_SHAPES).format(
        group=luck.choice(_GROUPS),
        zh=zh,
        en=en,
        under=en.replace(" ", "_"),
        dots=en.replace(" ", "."),
        season=luck.randint(1, 6),
        number=luck.randint(1, 60),
        label=luck.choice(_LABELS),
        sum=luck.getrandbits(32),
    )
