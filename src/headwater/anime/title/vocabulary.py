"""For step 4 of reading a title: the vocabulary of weak technical words, and the field of each.

A weak word may be part of a name; `terms.py` says when it counts.
"""

_WORDS = {
    "resolution": """
        4k 8k 2k
    """,
    "source": """
        bd dvd web bluray uhd bdbox r2 ld vhs bs
    """,
    "video": """
        hd fhd sd hdr hdr10 hdr10+ sdr dv dovi hq lq mq 10b 8b vfr nvenc 4:4:4
    """,
    "audio": """
        mp3 ogg wav alac dd ddp dd+ 2ch 6ch 5.1 2.0 5.1ch 2.0ch 7.1 dual stereo hi-res m4a ape
        24bit
    """,
    "container": """
        mkv mp4 avi ts m2ts wmv mov flv rmvb webm ogm ass srt ssa pgs sup mka iso m4v rm vob idx
    """,
    "platform": """
        baha bahamut bilibili b-global bglobal b站 cr crunchyroll amzn amazon nf netflix dsnp
        disney+ hulu abema abematv viutv viu iqiyi iq hidive hidi funi funimation u-next unext
        danime at-x atx bs11 tbs mbs mx ntv ttfc tver muse linetv friday kktv myvideo wowow nhk
        wetv tx tvtokyo bsfuji bs-tbs ani-one adn wakanim vrv hmax max atvp pcok bstx eng-sub
        youku tencent netease lftlnet crunchy dmm ytb youtube tvk cx ex bsp nico niconico
        donghua aniplus laftel hamivideo
    """,
    "kind": """
        tv ova oad ona movie sp special specials
    """,
    "other": """
        raw raws sub subs subbed dub dubbed softsub softsubs hardsub hardsubs multi-sub multi-
        subs multisub multisubs multi multiple subtitle subtitles esub esubs vostfr uncensored
        censored uncut remastered remaster repack proper batch complete final fixed fix end fin
        pre-air preair hybrid assx2 srtx2 assx3 chap chapters fonts mini encode hdtvrip ver
        audio rev rev2 vip bit eac and & + - v0 v1 v2 v3 v4 v5 no weekly funidub hevc-10bit
        hardcoded simuldub dualaudio softsubbed reseed
    """,
    "language": """
        chs cht gb gbk big5 big sc tc jp jap jpn jpsc jptc eng en engsub zh zho chi ja cn tw hk
        kor ko fr ger de ita it esp spa por pt-br pt br rus ru vie ind tha ara zh-hans zh-hant
        zh-cn zh-tw spa-la es-la es-es pt-pt chs&cht cht&chs
        arabic english japanese chinese korean french german spanish
        italian russian portuguese thai vietnamese indonesian scjp tcjp gb&big5 chsjpn chtjpn
    """,
}
WEAK_WORDS: dict[str, str] = {
    word: field for field, words in _WORDS.items() for word in words.split()
}
"""Each weak word, and the field it belongs to."""
