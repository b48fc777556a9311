"""Month names of the languages feeds are written in, shortened to what tells them apart."""

_ENGLISH = "january february march april may june july august september october november december"

_FULL: dict[str, str] = {
    "en": _ENGLISH,
    "de": "januar februar märz april mai juni juli august september oktober november dezember",
    "de-at": "jänner feber maerz april mai juni juli august september oktober november dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "fr-plain": "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre "
    "decembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre "
    "diciembre",
    "es-var": "enero febrero marzo abril mayo junio julio agosto setiembre octubre noviembre "
    "diciembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro "
    "dezembro",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre "
    "dicembre",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "sv": "januari februari mars april maj juni juli augusti september oktober november december",
    "da": "januar februar marts april maj juni juli august september oktober november december",
    "nb": "januar februar mars april mai juni juli august september oktober november desember",
    "fi": "tammikuu helmikuu maaliskuu huhtikuu toukokuu kesäkuu heinäkuu elokuu syyskuu lokakuu "
    "marraskuu joulukuu",
    "fi-part": "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta "
    "elokuuta syyskuuta lokakuuta marraskuuta joulukuuta",
    "is": "janúar febrúar mars apríl maí júní júlí ágúst september október nóvember desember",
    "et": "jaanuar veebruar märts aprill mai juuni juuli august september oktoober november "
    "detsember",
    "lv": "janvāris februāris marts aprīlis maijs jūnijs jūlijs augusts septembris oktobris "
    "novembris decembris",
    "lt": "sausio vasario kovo balandžio gegužės birželio liepos rugpjūčio rugsėjo spalio "
    "lapkričio gruodžio",
    "hu": "január február március április május június július augusztus szeptember október "
    "november december",
    "hu-adj": "januári februári márciusi áprilisi májusi júniusi júliusi augusztusi szeptemberi "
    "októberi novemberi decemberi",
    "pl": "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października "
    "listopada grudnia",
    "pl-nom": "styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik "
    "listopad grudzień",
    "cs": "ledna února března dubna května června července srpna září října listopadu prosince",
    "cs-nom": "leden únor březen duben květen červen červenec srpen září říjen listopad prosinec",
    "sk": "januára februára marca apríla mája júna júla augusta septembra októbra novembra "
    "decembra",
    "sl": "januarja februarja marca aprila maja junija julija avgusta septembra oktobra novembra "
    "decembra",
    "hr": "siječnja veljače ožujka travnja svibnja lipnja srpnja kolovoza rujna listopada "
    "studenoga prosinca",
    "sr": "januar februar mart april maj jun jul avgust septembar oktobar novembar decembar",
    "sr-cyr": "јануар фебруар март април мај јун јул август септембар октобар новембар децембар",
    "ro": "ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie "
    "noiembrie decembrie",
    "ca": "gener febrer març abril maig juny juliol agost setembre octubre novembre desembre",
    "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    "ru-nom": "январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь",
    "uk": "січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня",
    "mk": "јануари февруари март април мај јуни јули август септември октомври ноември декември",
    "gl": "xaneiro febreiro marzo abril maio xuño xullo agosto setembro outubro novembro decembro",
    "ms": "januari februari mac april mei jun julai ogos september oktober november disember",
    "uk-nom": "січень лютий березень квітень травень червень липень серпень вересень жовтень "
    "листопад грудень",
    "be": "студзеня лютага сакавіка красавіка мая чэрвеня ліпеня жніўня верасня кастрычніка "
    "лістапада снежня",
    "bg": "януари февруари март април май юни юли август септември октомври ноември декември",
    "el": "ιανουαρίου φεβρουαρίου μαρτίου απριλίου μαΐου ιουνίου ιουλίου αυγούστου σεπτεμβρίου "
    "οκτωβρίου νοεμβρίου δεκεμβρίου",
    "el-nom": "ιανουάριος φεβρουάριος μάρτιος απρίλιος μάιος ιούνιος ιούλιος αύγουστος "
    "σεπτέμβριος οκτώβριος νοέμβριος δεκέμβριος",
    "tr": "ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık",
    "az": "yanvar fevral mart aprel may iyun iyul avqust sentyabr oktyabr noyabr dekabr",
    "id": "januari februari maret april mei juni juli agustus september oktober november desember",
    "vi-en": _ENGLISH,
    "ar": "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر",
    "fa": "ژانویه فوریه مارس آوریل مه ژوئن ژوئیه اوت سپتامبر اکتبر نوامبر دسامبر",
    "he": "ינואר פברואר מרץ אפריל מאי יוני יולי אוגוסט ספטמבר אוקטובר נובמבר דצמבר",
    "he-in": "בינואר בפברואר במרץ באפריל במאי ביוני ביולי באוגוסט בספטמבר באוקטובר בנובמבר בדצמבר",
    "zh": "一月 二月 三月 四月 五月 六月 七月 八月 九月 十月 十一月 十二月",
    "hi": "जनवरी फ़रवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर",
    "th": "มกราคม กุมภาพันธ์ มีนาคม เมษายน พฤษภาคม มิถุนายน กรกฎาคม สิงหาคม กันยายน ตุลาคม พฤศจิกายน ธันวาคม",
    "th-short": "ม.ค. ก.พ. มี.ค. เม.ย. พ.ค. มิ.ย. ก.ค. ส.ค. ก.ย. ต.ค. พ.ย. ธ.ค.",
}

# Shortenings that three letters of the full name do not give, or that feeds spell in a way of
# their own (the Greek and Hungarian ones were met in the wild, misspellings included).
_SHORT: dict[str, str] = {
    "fr": "janv févr mars avr mai juin juil août sept oct nov déc",
    "de": "jan feb mrz apr mai jun jul aug sep okt nov dez",
    "de-mar": "jän feb mär apr mai jun jul aug sept okt nov dez",
    "es": "ene feb mar abr may jun jul ago sep oct nov dic",
    "pt": "jan fev mar abr mai jun jul ago set out nov dez",
    "it": "gen feb mar apr mag giu lug ago set ott nov dic",
    "nl": "jan feb mrt apr mei jun jul aug sep okt nov dec",
    "pl": "sty lut mar kwi maj cze lip sie wrz paź lis gru",
    "cs": "led úno bře dub kvě čvn čvc srp zář říj lis pro",
    "ru": "янв фев мар апр мая июн июл авг сен окт ноя дек",
    "ru-alt": "янв февр март апр май июнь июль авг сент окт нояб дек",
    "uk": "січ лют бер кві тра чер лип сер вер жов лис гру",
    "bg": "яну фев мар апр май юни юли авг сеп окт ное дек",
    "el": "Ιαν Φεβ Μάώ Απρ Μάι Ιούν Ιούλ Αύγ Σεπ Οκτ Νοέ Δεκ",
    "el-alt": "Ιαν Φεβ Μαώ Απρ Μαϊ Ιον Ιολ Αυγ Σεπ Οκτ Νοε Δεκ",
    "el-alt2": "Ιαν Φεβ Μαρ Απρ Μαι Ιουν Ιουλ Αυγ Σεπ Οκτ Νοε Δεκ",
    "el-alt3": "Ιαν Φεβ Μάρ Απρ Μάι Ιουν Ιουλ Αυγ Σεπ Οκτ Νοέ Δεκ",
    "hu": "jan febr márc ápr máj jún júl aug szept okt nov dec",
    "hu-mis": "jan febr márc ápr máujus jún júl aug szept okt nov dec",
    "tr": "oca şub mar nis may haz tem ağu eyl eki kas ara",
    "sv": "jan feb mar apr maj jun jul aug sep okt nov dec",
    "fi": "tammi helmi maalis huhti touko kesä heinä elo syys loka marras joulu",
    "fi-k": "tammik helmik maalisk huhtik toukok kesäk heinäk elok syysk lokak marrask jouluk",
    "et": "jaan veebr märts apr mai juuni juuli aug sept okt nov dets",
    "lv": "janv febr marts apr maijs jūn jūl aug sept okt nov dec",
    "lt": "saus vas kov bal geg birž liep rugp rugs spal lapkr gruod",
    "sl": "jan feb mar apr maj jun jul avg sep okt nov dec",
    "sr-cyr": "јан феб мар апр мај јун јул авг сеп окт нов дец",
    "uk-alt": "січ лют бер квіт трав черв лип серп вер жовт лист груд",
    "be": "сту лют сак кра мая чэр ліп жні вер кас ліс сне",
    "el-alt4": "Ιαν Φεβ Μαρ Απρ Μαΐ Ιουν Ιουλ Αυγ Σεπ Οκτ Νοε Δεκ",
    "id": "jan feb mar apr mei jun jul agu sep okt nov des",
    "ms": "jan feb mac apr mei jun jul ogo sep okt nov dis",
    "gl": "xan feb mar abr maio xuño xul ago set out nov dec",
    "mk": "јан фев мар апр мај јун јул авг септ окт ноем дек",
    "hr": "sij velj ožu tra svi lip srp kol ruj lis stu pro",
    "ro": "ian feb mar apr mai iun iul aug sep oct noi dec",
    "ca": "gen febr març abr maig juny jul ag set oct nov des",
    "is": "jan feb mar apr maí jún júl ágú sep okt nóv des",
    "he": "ינו פבר מרץ אפר מאי יונ יול אוג ספט אוק נוב דצמ",
    "en": "jan feb mar apr may jun jul aug sep oct nov dec",
}


def _table() -> dict[str, int]:
    months: dict[str, int] = {}
    for names in (*_SHORT.values(), *_FULL.values()):
        for number, name in enumerate(names.split(), 1):
            months[name.casefold()] = number
    # Croatian "listopada" is October, Polish "listopada" is November: Polish feeds are far more
    # common. English wins wherever it takes part.
    for names in (_SHORT["cs"], _SHORT["pl"], _FULL["pl"], _FULL["cs"]):
        for number, name in enumerate(names.split(), 1):
            months[name.casefold()] = number
    for number, name in enumerate(_ENGLISH.split(), 1):
        months[name] = months[name[:3]] = months[name[:4]] = number
    return months


MONTHS: dict[str, int] = _table()
"""Casefolded month name, full or shortened, to its number."""

CROATIAN_MONTHS = {"lip": 6, "srp": 7, "lis": 10, "listopada": 10}
"""Names that are other months in Polish and Czech."""

CROATIAN_DAYS = frozenset(
    "uto sri čet pet sub ned ponedjeljak utorak srijeda četvrtak petak subota nedjelja".split()
)
"""Names of days that are neither Polish nor Czech."""

ENGLISH_MONTHS: dict[str, int] = {
    spelling: number
    for number, name in enumerate(_ENGLISH.split(), 1)
    for spelling in (name[:3], name[:3].title(), name[:3].upper())
}

ISO_MONTHS: dict[str, str] = {
    name[:3].title(): f"-{number:02}-" for number, name in enumerate(_ENGLISH.split(), 1)
}
"""Months of RFC 822 dates as ISO dates write them, with the dashes around them."""
