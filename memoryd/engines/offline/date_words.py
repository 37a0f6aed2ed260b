"""How six languages say a day: their words, and the phrases made of them. Tables only; `dates` gives them meaning.

A list of words holds one entry a number, its spellings divided by `|`. In a phrase, `<wd>` stands for a weekday, `<mon>`
for a month, `<dd>` for a day of the month, `<n> <unit>` for a count of days, weeks, months or years, `<end>` for what
may follow a bare number or name (no noun: "the 3rd floor" is no day), a blank for any space, and `[[…]]` for the part
that is written anew, where that is not all. The longest of the leftmost phrases counts, of equal ones the first.
"""

# ruff: noqa: RUF001 (punctuation of other scripts)

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False, slots=True)
class Language:
    common: str  # words that tell it from the others
    weekdays: str
    months: str
    numbers: str  # from one
    units: str  # day, week, month, year
    day_of_month: str
    end: str  # words that may follow a bare day
    cue: str  # one of these, or a weekday, month or unit, stands in every phrase
    past: str  # what tells that a clause speaks of the past: its weekday may be a past one
    present: str
    phrases: tuple[
        tuple[str, dict[int, str]], ...
    ]  # what is meant; shifted by how many days, weeks, months; how it is said
    spaced: bool = True  # whether blanks divide its words


ENGLISH = Language(
    common="the is are to of and on for we it that be with not this you i at by from out my our has have",
    weekdays="monday tuesday|tues|tue wednesday|weds|wed thursday|thurs|thur|thu friday|fri saturday sunday",
    months="january|jan february|feb march|mar april|apr may june|jun july|jul august|aug september|sept|sep october|oct november|nov december|dec",
    numbers="a|an|one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty",
    units="days|day weeks|week months|month years|year",
    day_of_month=r"\d{1,2}(?:st|nd|rd|th)",
    end=r"and or so but because since as at in on by to until till from for with without after before then than when where which who while if "
    r"unless that this the a an is was are were be will won't would can can't cannot could must may might should it it's its i i'm we we're "
    r"we've you they they're he she there nobody nothing no not now instead already only both all any anything anyone everything everyone "
    r"evening morning afternoon night noon midnight early late latest earliest sharp eod eob cob thanks please pls ok btw do don't does has "
    r"have had goes go our my their his her your via due onwards onward through thru even just also too again whatever maybe probably neither "
    r"either whoever somebody someone \d{1,2}(?:(?::|h)\d\d|\s?(?:am|pm|h|utc|cet|o'clock))",
    cue=r"to(?:day|night|morrow)|tmrw|yesterday|\d{1,2}(?:st|nd|rd|th)|fortnight|weekend|quarter|eo[mqyw]|end\sof\sq|first|easter|christmas|new\syear",
    past=r"was|were|had|did|didn't|went|broke|ran|came|took|got|lost|fell|died|saw|found|hit|met|sent|said|told|made|gave|wrote|rewrote|built|rebuilt|paid|left|began|froze|hung|rose|"
    r"(?<!the\s)(?<!a\s)(?<!an\s)(?<!our\s)(?<!their\s)(?<!its\s)(?<!this\s)"
    r"(?!(?:need|feed|speed|seed|indeed|exceed|proceed|embed|red|bed|shed|led|med)\b)[a-z]{1,20}ed",
    present=r"(?:is|isn't|are|aren't|am|be|being|been|gets|get|will|won't|must|has|have|needs|going|should|can|can't|cannot|"
    r"may|shall|[a-z]{1,20}'(?:s|re|ll|ve|m)|to)(?:\s(?:not|now|only|just|already|being|been|[a-z]{1,12}ly))?"
    r"(?:\s(?:had|[a-z]{1,20}ed))?|starts|comes|goes|opens|closes|ends|expires|by|until|till|before|from|for",
    phrases=(
        ("last", {0: r"since [[<wd>]]|(?:last|this past) <wd>"}),
        ("day of month", {-1: r"since [[the <dd>]]<end>", 0: r"(?:on|by|until|till|til|before|after|from|around|to|through|for) [[the <dd>]]<end>"}),
        ("keep", {0: r"(?:every|each|most|any|other|per|all|alternate) (?:other |single |second )?<wd>|(?:monday|mon) (?:to|through|thru) (?:fri|sun)(?:day)?|[a-z]{3,6}days (?:to|through|and) <wd>"}),
        ("keep", {0: r"(?:<dd>|<ord>) of (?:each|every|the) month|(?:the|a|an|one|no|that|which|some|our|my|your|their|his|her|black|cyber|ash|palm) <wd>"}),
        ("keep", {0: r"(?:<wd>,? )?(?:<mon>\.? (?:<dd>|\d{1,2})|(?:<dd>(?: of)?|\d{1,2}) <mon>),? \d{4}"}),
        ("day", {0: r"today", 1: r"tomorrow|tmrw", -1: r"yesterday", 2: r"(?:the )?day after tomorrow", -2: r"(?:the )?day before yesterday"}),
        ("day noted", {0: r"tonight|this (?:morning|afternoon|evening)", -1: r"last night", -14: r"a fortnight ago"}),
        ("day noted", {14: r"in a fortnight(?:'s time)?|a fortnight (?:from (?:now|today)|out|away)"}),
        ("coming", {0: r"(?:on|by|until|till|til|before|from|after|to|for|come|around|starting|effective|as of|than) [[(?:coming )?<wd>]]"}),
        ("coming, not today", {0: r"(?:it's|its|it is) [[<wd>]]<end>"}),
        ("coming", {0: r"<wd><end>|(?:this |the )?(?:coming|following) <wd>"}),
        ("this", {0: r"this <wd>"}),
        ("week", {1: r"next <wd>|next week,? (?:on )?(?:the )?<wd>|<wd>,? (?:of )?(?:the )?next week"}),
        ("week", {0: r"(?:later )?this week,? (?:on )?<wd>|<wd>,? (?:of )?this week", -1: r"<wd>,? (?:of )?last week|last week,? (?:on )?<wd>"}),
        ("week", {2: r"<wd>,? (?:of )?the week after next|(?:the )?week after next,? (?:on )?(?:the )?<wd>"}),
        ("weekday of month", {0: r"(?:(?:next|this|coming|the) )?<wd>,? the <dd>"}),
        ("so many weeks from", {1: r"<wd> week<end>"}),
        ("month", {0: r"<mon>"}),
        ("weeks from", {0: r"(?:in )?<n> weeks? (?:from |on )?(?:this |coming )?<wd>|<wd> in <n> weeks?", 1: r"<n> weeks? from next <wd>"}),
        ("day of month", {0: r"(?:is|it's|be|due|now|again|for|(?<=,)|on|by|until|till|to|from) [[(?:the )?<dd>]](?= ?(?:$|[.,;!?)]|instead|now|at\b))"}),
        ("day of month", {0: r"[[the <dd>]] (?:instead|at (?:noon|midnight|\d))|(?:^|(?<=[.!?;]\s))[[the <dd>]](?=[.!,;]|$)"}),
        ("day of month", {0: r"(?:on|by|until|till|before) [[the first]](?=[,.;!?]|$| at )|the (?P<number>(?:1[1-9]|2\d|3[01])(?:st|nd|rd|th))<end>"}),
        ("day in month", {0: r"(?:the )?(?:<dd>|<ord>) of this month", 1: r"(?:the )?(?:<dd>|<ord>) of next month|next month on the <dd>"}),
        ("date", {0: r"(?:<wd>,? (?:the )?)?<mon>\.? (?:the )?(?:<dd>|<day>)(?![:.%/]\d)"}),
        ("date", {0: r"(?:<wd>,? )?(?:the )?(?:<dd>(?: of)?|<ord> of|<day>) <mon>"}),
        ("end of month", {0: r"(?:the )?(?:end|last day) of (?:the|this) month|(?:by|at|until|till|til|before) [[(?:end of month|month end|eom)]]"}),
        ("end of month", {1: r"(?:the )?(?:end|last day) of next month"}),
        ("end of named month", {0: r"(?:the )?(?:end|last day) of (?:(?:next )?<mon>|q(?P<quarter>[1-4]))(?: (?P<year>\d{4}))?"}),
        ("end of quarter", {0: r"(?:the )?(?:end|last day) of (?:the|this) quarter|(?:by|until|till|before) [[(?:eoq|end of quarter|quarter end)]]"}),
        ("end of quarter", {1: r"(?:the )?(?:end|last day) of next quarter"}),
        ("end of year", {0: r"(?:the )?(?:end|last day) of (?:the|this) year|(?:by|until|till|before) [[(?:eoy|end of year|year end)]]", 1: r"(?:the )?(?:end|last day) of next year"}),
        ("end of week", {0: r"(?:the )?(?:end|last day) of (?:the|this) week|(?:by|until|till|before) [[(?:end of week|eow)]]", 1: r"(?:the )?(?:end|last day) of next week"}),
        ("part of month", {0: r"(?:mid|early|late)[-\s]<mon>(?! \d)|(?:by|until|till|before|starting) [[<mon>]]<end>(?! \d)"}),
        ("ahead", {1: r"(?<!done\s)(?<!finished\s)(?<!built\s)in <n> <unit>(?:'s?)?(?: time)?<end>"}),
        ("ahead", {1: r"<n> <unit> (?:out|away)<end>|<n> <unit> from (?:now|today)", -1: r"<n> <unit> ago"}),
        ("ahead of tomorrow", {1: r"<n> <unit> from tomorrow"}),
        ("ahead", {1: r"(?:for )?the next <n> <unit>"}),
        ("whole week", {0: r"this week", 1: r"next week", 2: r"(?:the )?week after next", -1: r"(?<!the\s)last week"}),
        ("weekend", {0: r"this (?:coming )?weekend", 1: r"next weekend", -1: r"last weekend"}),
        ("whole month", {0: r"this month", 1: r"next month", -1: r"(?<!the\s)last month"}),
        ("whole quarter", {0: r"this quarter", 1: r"next quarter", -1: r"(?<!the\s)last quarter"}),
        ("whole year", {0: r"this year", 1: r"next year", -1: r"(?<!the\s)last year"}),
        ("easter", {0: r"(?:until|till|til|before|after|by|over|on) [[easter(?: sunday)?]](?! (?:monday|egg))", 1: r"easter monday", -2: r"good friday"}),
        ("feast", {1224: r"christmas eve", 1225: r"(?:until|till|before|by) [[christmas(?: day)?]]<end>", 1231: r"new year'?s eve"}),
    ),
)  # fmt: skip

GERMAN = Language(
    common="der die das und ist nicht wir ich mit auf für ein eine den dem im nur es zu nix mal wird sind von hat kann kein keine mehr noch schon auch soll muss bitte also wenn nichts",
    weekdays="montag dienstag mittwoch donnerstag freitag samstag|sonnabend sonntag",
    months="januar|jänner|jan februar|feb märz|maerz april mai juni juli august|aug september|sept oktober|okt november|nov dezember|dez",
    numbers="einem|einer|ein|eine zwei drei vier fünf|fuenf sechs sieben acht neun zehn elf zwölf|zwoelf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn zwanzig",
    units="tagen|tage|tag wochen|woche monaten|monate|monat jahren|jahre|jahr",
    day_of_month=r"\d{1,2}\.",
    end=r"und oder aber denn weil da dann danach ist sind war wird werden geht gehen kommt kommen hat haben muss müssen soll sollen darf dürfen "
    r"kann können fällt läuft startet beginnt an ab bis im in um auf für mit ohne von vom zum zur nach vor bei wir ich du ihr er sie es man "
    r"der die das den dem ein eine kein keine keiner nicht nur noch erst schon auch wieder statt geplant früh abends morgens mittags "
    r"nachmittags nachts alles nichts niemand so also bitte dran fertig raus live los zu \d{1,2}(?::\d\d|\suhr)",
    cue=r"heute|ersten|(?:vor)?gestern|(?:über|ueber)?morgen|oster|karfr|wochenende|quartal|monatsende|jahresende|ende\sq|"
    r"(?:am|zum|dem|bis|vom|den)\s\d",
    past=r"war|waren|wurde|wurden|hatte|hatten|ging|gingen|kam|fiel|lief|gab|ausgefallen|abgestürzt|kaputtgegangen",
    present=r"ist|sind|wird|werden|muss|müssen|soll|sollen|kommt|geht|ab|bis",
    phrases=(
        ("last", {0: r"seit [[<wd>]]|(?:letzte|vorige|vergangene)[nrms]? <wd>"}),
        ("day of month", {-1: r"seit dem [[(?:<dd>|ersten)]]<end>", 0: r"(?:am|dem|zum|vom|bis|zwischen) [[<dd>]]<end>"}),
        ("keep", {0: r"(?:jede[nrms]?|immer|einem|einen|ein|der|kein|keinen|alle) (?:zweite[nr]? )?(?:am )?<wd>"}),
        ("keep", {0: r"(?:montag|mo) bis freitag|(?:<wd>,? (?:de[mnr] )?)?<dd> ?(?:<mon>|\d{1,2}\.) ?\d{4}"}),
        ("keep", {0: r"(?:guten|jeden|am|diesen) morgen|morgen (?:zusammen|allerseits|leute)|(?-i:Morgen)(?= ?[,!.])|(?<=[a-zäöüß,]\s)(?-i:Morgen)"}),
        ("day", {0: r"heute", 1: r"morgen", 2: r"übermorgen|uebermorgen", -1: r"gestern", -2: r"vorgestern"}),
        ("coming", {0: r"<wd>(?: morgen)?|(?:diesen )?kommende[nrms]? <wd>"}),
        ("day noted", {0: r"heute (?:morgen|früh|abend|nacht|mittag|nachmittag)", -1: r"gestern (?:morgen|früh|abend|nacht|mittag)"}),
        ("this", {0: r"diese[nrms]? <wd>"}),
        ("week", {1: r"nächste[nrms]? <wd>|(?:nächste|kommende)r? woche,? (?:am )?<wd>|<wd>,? (?:der )?nächste[rn]? woche"}),
        ("week", {0: r"diese woche,? (?:noch )?(?:am )?<wd>|<wd>,? diese[r]? woche", 2: r"übernächste[nrms]? (?:woche,? )?(?:am )?<wd>|<wd> übernächste[r]? woche"}),
        ("weeks from", {0: r"<wd> in <n> wochen?|in <n> wochen? (?:am )?<wd>"}),
        ("month", {0: r"<mon>"}),
        ("weekday of month", {0: r"<wd>,? (?:de[mnr] )?<dd>"}),
        ("day in month", {1: r"<dd> nächsten monats|<dd> des nächsten monats", 0: r"<dd> (?:dieses|des) monats"}),
        ("date", {0: r"(?:<wd>,? (?:de[mnr] )?)?(?:<dd>|ersten) ?<mon>\b(?! \d{4})"}),
        ("date", {0: r"(?:am|zum|dem|vom|den) [[<dd>(?P<month>\d{1,2})\.]](?!\d)"}),
        ("end of month", {0: r"(?:am |zum |bis )?(?:ende (?:des|dieses|diesen) monats|monatsende|ende monat)", 1: r"ende (?:des )?nächsten monats"}),
        ("end of named month", {0: r"ende (?:<mon>|q(?P<quarter>[1-4]))(?: (?P<year>\d{4}))?"}),
        ("end of quarter", {0: r"(?:bis |zum )?[[(?:ende (?:des|dieses) quartals|quartalsende)]]"}),
        ("end of year", {0: r"(?:bis |zum |am )?[[(?:ende (?:des|dieses) jahres|jahresende)]]"}),
        ("end of week", {0: r"ende (?:der|dieser) woche", 1: r"ende nächster woche"}),
        ("part of month", {0: r"(?:mitte|anfang) <mon>(?! \d)|(?:bis|ab) [[<mon>]]<end>(?! \d)"}),
        ("ahead", {1: r"(?:(?:ab )?heute )?in <n> <unit>|heute über <n> <unit>|die nächsten <n> <unit>", -1: r"vor <n> <unit>"}),
        ("ahead of tomorrow", {1: r"morgen in <n> <unit>"}),
        ("whole week", {0: r"diese woche", 1: r"(?:nächste|kommende)[rn]? woche", 2: r"übernächste[rn]? woche", -1: r"(?:letzte|vorige|vergangene)[rn]? woche"}),
        ("weekend", {0: r"diese[sm]? wochenende", 1: r"nächste[sn]? wochenende"}),
        ("whole month", {0: r"diesen monat", 1: r"nächste[nrms]? monat", -1: r"(?:letzte|vorige)[nrms]? monat"}),
        ("whole quarter", {1: r"nächste[sn]? quartal"}),
        ("whole year", {0: r"dieses jahr", 1: r"nächste[sn]? jahr", -1: r"(?:letzte|voriges?)[sn]? jahr"}),
        ("easter", {0: r"(?:bis|vor|nach|ab|zu|über) [[ostern]]|ostersonntag", 1: r"ostermontag", -2: r"karfreitag"}),
    ),
)  # fmt: skip

SPANISH = Language(
    common="el la los las de que y en un una por para con no es se lo del al ya hay",
    weekdays="lunes martes miércoles|miercoles jueves viernes sábado|sabado domingo",
    months="enero|ene febrero|feb marzo abril|abr mayo junio|jun julio|jul agosto|ago septiembre|setiembre|sept octubre|oct noviembre|nov diciembre|dic",
    numbers="un|una dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve veinte",
    units="días|dias|día|dia semanas|semana meses|mes años|año",
    day_of_month=r"\d{1,2}",
    end=r"y e o u pero porque pues que ya no ni a al de(?:sde) en con sin para se nos me te le les lo su sus mi mis nuestro nuestra la las los el "
    r"hay va van tiene viene vienen queda así asi entonces cuando donde como si todo todos nada nadie hasta hacia entra sale arranca "
    r"empieza termina cierra abre cae recién apenas máximo temprano tenemos tengo hacemos [a-z]{2,12}[ae]n",
    cue=r"hoy|mañana|ayer|anteayer|anoche|noche|trimestre|fin\sde\sa|(?:el|al|día)\s\d",
    past=r"fue|fueron|era|eran|estaba|estaban|hubo|había|[a-zñ]{2,20}(?:ó|aron|ieron)|vino|hizo|dijo|pudo|tuvo",
    present=r"es|son|va|van|será|serán|viene|hay|tiene|tienen|hasta",
    phrases=(
        ("last", {0: r"(?:pasado )<wd>|<wd> pasado"}),
        ("keep", {0: r"(?:los|cada|un|ningún|algún|todos los) <wd>|desde el <wd>(?! \d)|lunes a (?:viernes|jueves|domingo)"}),
        ("keep", {0: r"(?:<wd>,? )?<dd> de <mon> del? \d{4}|hoy en día|del? \d{1,2} al? \d{1,2}|(?:la|esta|una|cada|media|de la|por la) mañana"}),
        ("day", {0: r"hoy", 1: r"mañana", 2: r"pasado mañana", -1: r"ayer", -2: r"anteayer|antier|antes de ayer"}),
        ("day noted", {0: r"esta (?:noche|tarde|mañana)", -1: r"anoche"}),
        ("coming", {0: r"(?:el|al|del|hasta|para|próximo|proximo) [[<wd>(?: que (?:viene|entra)| pr[óo]ximo| entrante)?]]"}),
        ("this", {0: r"este (?:mismo )?<wd>"}),
        ("week", {1: r"(?:la )?(?:semana que (?:viene|entra)|pr[óo]xima semana|semana (?:pr[óo]xima|entrante)),? (?:el )?<wd>"}),
        ("week", {1: r"<wd> de la (?:semana que (?:viene|entra)|pr[óo]xima semana|semana (?:pr[óo]xima|entrante)|otra semana)"}),
        ("week", {0: r"<wd> de esta semana|esta semana,? el <wd>", -1: r"<wd> de la semana pasada"}),
        ("weeks from", {0: r"<wd> (?:en|dentro de) <n> semanas?"}),
        ("weekday of month", {0: r"<wd>,? <dd>(?! ?(?:h|hs|hrs|horas|am|pm|de)\b)(?![:.,%]\d)"}),
        ("day of month", {0: r"(?:(?<!puerto\s)(?<!paso\s)(?<!ticket\s)(?<!issue\s)(?<!caso\s)el|al|día|dia) [[<dd>]]<end>"}),
        ("day in month", {1: r"<dd> del (?:pr[óo]ximo mes|mes que (?:viene|entra)|mes pr[óo]ximo)", 0: r"<dd> de este mes"}),
        ("date", {0: r"(?:<wd>,? )?(?:<dd>|1[º°]|1ro|primero) de <mon>"}),
        ("date", {0: r"(?:el|al) [[<dd>/(?P<month>\d{1,2})]](?![/\d])"}),
        ("end of month", {0: r"(?:a|al|hasta|para|antes del?|desde) [[(?:el )?(?:fin|fines|final|finales) del? (?:este )?mes]]"}),
        ("end of month", {1: r"(?:fin|fines|final|finales) del (?:pr[óo]ximo mes|mes que (?:viene|entra)|mes pr[óo]ximo)"}),
        ("end of named month", {0: r"(?:fin|fines|final|finales) de <mon>(?: del? (?P<year>\d{4}))?"}),
        ("end of quarter", {0: r"(?:fin|final|finales) (?:del?|de este) trimestre"}),
        ("end of year", {0: r"(?:a|al|hasta|para|antes del?) [[(?:el )?(?:fin|fines|final|finales) del? (?:este )?año]]"}),
        ("end of week", {0: r"(?:final|finales) de (?:la |esta )?semana"}),
        ("part of month", {0: r"(?:hasta|para) [[<mon>]]<end>|(?:mediados|principios|comienzos|inicios) de <mon>(?! del? \d)"}),
        ("ahead", {1: r"(?:en|dentro de|de aquí a|de hoy en) <n> <unit>(?! (?:de|hábiles))|(?:las|los) pr[óo]xim[oa]s <n> <unit>", -1: r"hace <n> <unit>"}),
        ("whole week", {0: r"esta semana", -1: r"(?:la )?semana pasada"}),
        ("whole week", {1: r"(?:la )?(?:semana que (?:viene|entra)|pr[óo]xima semana|semana (?:pr[óo]xima|entrante))"}),
        ("weekend", {0: r"este (?:fin de semana|finde)"}),
        ("whole month", {1: r"(?:el )?(?:pr[óo]ximo mes|mes que (?:viene|entra)|mes pr[óo]ximo)", -1: r"(?:el )?mes pasado"}),
        ("whole quarter", {1: r"(?:el )?(?:pr[óo]ximo trimestre|trimestre que viene)"}),
        ("whole year", {1: r"(?:el )?(?:pr[óo]ximo año|año que (?:viene|entra)|año pr[óo]ximo)", -1: r"(?:el )?año pasado"}),
    ),
)  # fmt: skip

FRENCH = Language(
    common="le la les de des et un une est pour pas que qui on en du au ce je il à c'est",
    weekdays="lundi mardi mercredi jeudi vendredi samedi dimanche",
    months="janvier|janv février|fevrier|févr mars avril|avr mai juin juillet|juil août|aout septembre|sept octobre|oct novembre|nov décembre|decembre|déc",
    numbers="un|une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf vingt",
    units="jours|jour semaines|semaine mois années|année|ans|an",
    day_of_month=r"\d{1,2}|1er",
    end=r"et ou mais car donc parce puis pour à a au aux avec sans dans de(?:puis)? dès en jusqu jusqu'à on nous vous je tu il elle ils elles ça "
    r"c'est ce cette est sont sera va vont doit doivent peut le la les un une rien personne tout tous pas plus ne qui que quand si comme matin "
    r"soir midi prochain grand minimum maximum y lors sauf \d{1,2}\s?h(?:\d\d)?",
    cue=r"demain|hier|aujourd|ce\ssoir|cette\snuit|week-?end|trimestre|fin\s[qt]|pâques|(?:le|au|du)\s\d",
    past=r"était|étaient|avait|avaient|fut|a (?:été|eu|fait|pris|mis|perdu|[a-zéè]{2,20}é)|ont [a-zéè]{2,20}[éius]|"
    r"est (?:tombée?|arrivée?|parti|venue?|passée?)",
    present=r"sera|seront|va|vont|doit|devra|jusqu|d'ici",
    phrases=(
        ("last", {0: r"depuis [[<wd>]]|<wd> (?:dernier|passé)"}),
        ("day of month", {-1: r"depuis le [[<dd>]]<end>", 0: r"(?:le|au|du) [[<dd>]]<end>"}),
        ("keep", {0: r"du lundi au (?:vendredi|jeudi|dimanche)|(?:le|les|chaque|tous les|un|du) <wd>(?! \d| prochain| de la semaine)"}),
        ("keep", {0: r"(?:<wd> )?<dd> <mon> \d{4}|du \d{1,2} au \d{1,2}(?! [a-zé])|le \d{1,2} avant le \d{1,2}|(?:dans|d'ici) (?:huit|quinze|8|15) jours"}),
        ("day", {0: r"(?:d['’])?aujourd['’]hui", 1: r"demain", 2: r"apr[èe]s[-\s]demain", -1: r"(?:d['’])?hier", -2: r"avant[-\s]hier"}),
        ("day noted", {0: r"ce (?:soir|matin)|cette nuit|cet après-midi", -1: r"hier soir"}),
        ("coming", {0: r"(?:le )?<wd> (?:prochain|qui vient)|<wd>"}),
        ("this", {0: r"ce <wd>"}),
        ("week", {1: r"(?:la )?semaine prochaine,? (?:le )?<wd>|(?:le )?<wd> de la semaine prochaine", 0: r"cette semaine,? <wd>|<wd> de cette semaine"}),
        ("weeks from", {0: r"<wd> dans <n> semaines?"}),
        ("so many weeks from", {1: r"<wd> en huit", 2: r"<wd> en quinze"}),
        ("weekday of month", {0: r"<wd>,? (?:le )?<dd>(?! ?(?:h|heures?)\b|h\d)(?![:.,%]\d)"}),
        ("day in month", {1: r"<dd> du mois prochain", 0: r"<dd> de ce mois"}),
        ("date", {0: r"(?:<wd>,? )?(?:<dd>|premier) <mon>\b"}),
        ("date", {0: r"(?:le|au|du) [[<dd>/(?P<month>\d{1,2})]](?![/\d])"}),
        ("end of month", {0: r"(?:la )?fin (?:du|de ce|de) mois(?! prochain)", 1: r"(?:la )?fin du mois prochain"}),
        ("end of named month", {0: r"(?:la )?fin (?:du mois de |de |d')?(?:<mon>|[qt](?P<quarter>[1-4]))(?: (?P<year>\d{4}))?"}),
        ("end of quarter", {0: r"(?:la )?fin (?:du|de ce|de) trimestre"}),
        ("end of year", {0: r"(?:la )?fin (?:de l['’]année|d['’]année|de cette année)"}),
        ("end of week", {0: r"(?:la )?fin de la semaine(?! prochaine)", 1: r"(?:la )?fin de la semaine prochaine"}),
        ("part of month", {0: r"(?:mi-|(?:mi|début|courant) )<mon>(?! \d)|(?:jusqu'en|d'ici|avant) [[<mon>]]<end>(?! \d)"}),
        ("ahead", {1: r"(?:dans|d['’]ici) <n> <unit>|les <n> prochain(?:e)?s <unit>", -1: r"il y a <n> <unit>"}),
        ("whole week", {0: r"cette semaine", 1: r"(?:la )?semaine prochaine", -1: r"(?:la )?semaine dernière"}),
        ("weekend", {0: r"ce week-?end", 1: r"(?:le )?week-?end prochain"}),
        ("whole month", {1: r"(?:le )?mois prochain", -1: r"(?:le )?mois dernier"}),
        ("whole quarter", {1: r"(?:le )?trimestre prochain"}),
        ("whole year", {1: r"(?:l['’])?(?:année prochaine|an prochain)", -1: r"(?:l['’])?(?:année dernière|an dernier)"}),
        ("easter", {0: r"(?:jusqu'à|avant|après|à|d'ici) [[pâques]]"}),
    ),
)  # fmt: skip

CHINESE = Language(
    common="",
    weekdays="一 二 三 四 五 六 日|天",
    months=r"(?:1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九]) ?月份?",
    numbers="一 二|两|兩 三 四 五 六 七 八 九 十 十一 十二",
    units="天|日 [周週]|[个個]?星期|[个個]?[礼禮]拜 [个個]?月 年",
    day_of_month=r"(?:\d{1,2}|[二三]?十[一二三四五六七八九]?|[一二三四五六七八九]) ?[号號]",
    end=r"[，。,.；;：:！!？?、)）\s前后後之到起开開上下零早晚中发發交截那就才了和至以凌夜当要会會给給我他她它你的是有做出封停必得也都再可因，提验演]",
    cue=r"\d/\d|[周週]|星期|[礼禮]拜|今|明[天晚早日]|[后後]天|昨|前天|[号號月年季天]",
    past=r"已经|曾经?|当时|上次",
    present=r"要|会|将|改到|定在|推到",
    phrases=(
        ("keep", {0: r"每[个個]?(?:逢?[周週]|星期|[礼禮]拜)<wd>|(?:[周週]|星期|[礼禮]拜)<wd> ?[到至~-] ?(?:[周週]|星期|[礼禮]拜)[一二三四五六日天]|每[个個]?月|每年|今天就?是(?:[周週]|星期|[礼禮]拜)<wd>|那[个個]?(?:[周週]|星期|[礼禮]拜)的?(?:[周週]|星期|[礼禮]拜)<wd>|\d{4} ?年 ?<mon>(?: ?\d{1,2} ?[日号])?"}),
        ("day", {0: r"今[天日]", 1: r"明天|明日", 2: r"(?<!大)[后後]天(?!性)", 3: r"大[后後]天", -1: r"昨[天日]", -2: r"(?<![大提])前天"}),
        ("day noted", {0: r"今晚|今早", 1: r"明[早晚]", -1: r"昨晚"}),
        ("date", {0: r"(?<![\d/.])(?P<month>\d{1,2})/<day>(?= ?(?:[上下]午|早|晚|凌晨|中午|之?前|[后後]|到|起|要|[会會切上停開开交截動动]|[(（][一二三四五六日]))"}),
        ("coming", {0: r"(?<![一两兩二三四五六七八九十\d每半几幾个個上下这這本])(?:[周週]|星期|[礼禮]拜)<wd>(?![一二三四五六日志次都]|下午都|晚上?都)"}),
        ("week", {0: r"(?:[这這][个個]?|本)(?:[周週]|星期|[礼禮]拜)<wd>", 1: r"(?<!下)下[个個]?(?:[周週]|星期|[礼禮]拜)<wd>", 2: r"下下[个個]?(?:[周週]|星期|[礼禮]拜)<wd>"}),
        ("week", {-1: r"上[个個]?(?:[周週]|星期|[礼禮]拜)<wd>"}),
        ("day of month", {0: r"(?<![\d.第月年#a-zA-Z十用给把换测大小号號])(?<![用第给把换测]\s)[[<dd>]](?=<end>|$)"}),
        ("day in month", {1: r"下[个個]?月 ?<dd>", 0: r"(?:[这這][个個]|本)月 ?<dd>"}),
        ("date", {0: r"(?<!年)<mon> ?(?:<dd>|<day> ?日)"}),
        ("end of month", {0: r"(?:[这這][个個]?|本)?(?<![\d一二三四五六七八九十下个])月[底末]", 1: r"下[个個]?月[底末]"}),
        ("end of named month", {0: r"(?<!年)<mon>[底末]"}),
        ("end of quarter", {0: r"(?:本|[这這][个個]?)?季度[末底]"}),
        ("end of year", {0: r"(?<!明)(?:今)?年[底末](?!年)", 1: r"明年[底末]"}),
        ("part of month", {0: r"(?<!年)<mon>(?:中旬|上旬|下旬|初|中)"}),
        ("ahead", {1: r"<n> ?<unit>(?:之|以)?[后後](?!端|台|臺)", -1: r"<n> ?<unit>(?:之|以)?前(?!端|台)"}),
        ("ahead", {1: r"(?:接下[来來]|未[来來]) ?<n> ?<unit>"}),
        ("whole week", {0: r"(?:[这這]|本)[周週](?![一二三四五六日天末])", 1: r"(?<!下)下[个個]?(?:[周週]|星期|[礼禮]拜)(?![一二三四五六日天末])"}),
        ("whole week", {2: r"下下[周週](?![一二三四五六日天末])", -1: r"(?<!上)上[个個]?(?:[周週]|星期|[礼禮]拜)(?![一二三四五六日天末])"}),
        ("numbered week", {0: r"<n> ?(?:[周週]|[个個]?星期|[个個]?[礼禮]拜)(?:之|以)?[后後]的?(?:[周週]|星期|[礼禮]拜)<wd>"}),
        ("weekend", {0: r"(?:[这這]|本)[周週]末", 1: r"下[周週]末"}),
        ("whole month", {1: r"下[个個]月", -1: r"上[个個]月"}),
        ("whole quarter", {1: r"下[个個]?季度"}),
        ("whole year", {1: r"明年(?![底末])", -1: r"去年"}),
    ),
    spaced=False,
)  # fmt: skip

JAPANESE = Language(
    common="",
    weekdays="月 火 水 木 金 土 日",
    months=r"(?:1[0-2]|[1-9]) ?月",
    numbers="一 二 三 四 五 六 七 八 九 十 十一 十二",
    units="日 週間? [かヶヵケカ]月 年",
    day_of_month=r"(?:\d{1,2}|[二三]?十[一二三四五六七八九]?|[二三四五六七八九]) ?日",
    end=r"(?:に(?!\s?[一1]\s?[度回])|まで|から|[、。,.\s！!？?（(]|付|締|の[朝昼夜夕午\d])",
    cue=r"\d/\d|曜|今[日夜晩週月年]|本日|明[日後]|あさって|あした|昨日|きのう|一昨日|おととい|来[週月年]|先[週月]|末|[日週月年]",
    past=r"さっき|(?:し|て|れ|ち|出|っ|し)た(?=[、。\s]|んだ|わ|けど|ので|$)",
    present=r"予定|(?:決ま|な|変わ)(?:った|りました)|(?:延び|ずれ)(?:た|ました)|まで",
    phrases=(
        ("keep", {0: r"今日は?<wd>曜日?|毎週の?<wd>曜?日?|毎[日週月年]末?|隔週<wd>曜?|\d{4} ?年 ?<mon>(?: ?\d{1,2} ?日)?|年末年始"}),
        ("day", {0: r"今日(?!は[、。！!]|も[、。])|本日", 1: r"明日|あした", 2: r"明後日|あさって", -1: r"(?<!一)昨日|きのう", -2: r"一昨日|おととい"}),
        ("day noted", {0: r"今[夜晩朝]"}),
        ("coming", {0: r"(?:次の)?<wd>曜日?(?!ごと|は?毎|[~〜]|から<wd>曜)"}),
        ("week", {0: r"(?:今週|こんしゅう)の? ?<wd>(?:曜日?)(?!末)", 1: r"来週の? ?<wd>(?:曜日?)", 2: r"再来週の? ?<wd>(?:曜日?)", -1: r"先週の? ?<wd>(?:曜日?)"}),
        ("day of month", {0: r"(?<![\d月./年]) ?[[<dd>]](?=<end>|$)"}),
        ("day in month", {1: r"来月の? ?<dd>", 0: r"今月の? ?<dd>"}),
        ("date", {0: r"(?<!年)<mon> ?<dd>|<mon> ?(?P<first>一)日"}),
        ("date", {0: r"(?<![\d/])(?P<month>\d{1,2})/<day>(?= ?(?:に|まで|から|の|[(（][月火水木金土日]))"}),
        ("end of month", {0: r"(?:今月|(?<![月\d毎来先]))(?:月)?末(?=に|まで|で|から|、|。|は|が|の予定|\s|$)(?<=月末)", 1: r"来月末"}),
        ("end of named month", {0: r"(?<!年)<mon>末"}),
        ("end of quarter", {0: r"(?:今)?四半期末"}),
        ("end of year", {0: r"(?:今)?年末(?=に|まで|で|から|、|。|\s|$)"}),
        ("part of month", {0: r"(?<!年)<mon>(?:中旬|上旬|下旬|初め|半ば|頭)"}),
        ("ahead", {1: r"<n> ?<unit>後", -1: r"(?<!の)<n> ?<unit>前(?!まで|後)"}),
        ("whole week", {0: r"今週(?!末|の? ?[月火水木金土日]曜)", 1: r"(?<!再)来週(?!末|の? ?[月火水木金土日]曜)", 2: r"再来週(?!の? ?[月火水木金土日]曜)", -1: r"先週(?!末|の? ?[月火水木金土日]曜)"}),
        ("numbered week", {0: r"<n> ?週間?後の? ?<wd>曜日?"}),
        ("weekend", {0: r"今週末", 1: r"来週末"}),
        ("whole month", {1: r"(?<!再)来月(?!末)", -1: r"先月(?!末)"}),
        ("whole year", {1: r"来年(?!度)", -1: r"(?:昨年|去年)(?!度)"}),
    ),
    spaced=False,
)  # fmt: skip

LANGUAGES = (ENGLISH, GERMAN, SPANISH, FRENCH, CHINESE, JAPANESE)
ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first"
)
HABITS = r"every|each|always|never|usually|normally|jede[nrsm]?|immer|nie|niemals|siempre|nunca|cada|todos|toujours|jamais|chaque|每|总是|從不|从不|毎|いつも"  # fmt: skip
CLAUSE_END = r"[.;:!?。；！？\n]|[,，、](?!\s?\d{4}-)|\b(?:and|so|but|because|und|aber|weil|y|pero|porque|et|mais|car)\b"  # fmt: skip
