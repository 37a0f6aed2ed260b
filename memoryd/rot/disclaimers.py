"""Words by which a memory says itself that something is gone, planned, forbidden, or of another repository.

A sentence with one of them is no claim that what it names is there: "we deleted `old.py`" stays true when `old.py` is
gone. Too many words here cost a flag that would have been right; too few cost a false one, which is worse. Pure.
"""

from __future__ import annotations

import re

_ENGLISH = r"""
never | do\ not | don['\u2019]?t | must\ not | mustn['\u2019]?t | should\ not | shouldn['\u2019]?t
| can(?:no|['\u2019])t\ use | avoid\w* | forbidden | stop(?:ped)?\ using
| not\ (?:any\ ?more|yet|there|here|use|used) | no\ longer | no\ more | (?:does|do)(?:n['\u2019]?t|\ not)\ exist
| instead\ of | rather\ than | in\ place\ of | used\ to | former(?:ly)? | previously | there\ (?:was|were)
| until\ recently | remov\w+ | delet\w+ | drop(?:s|ped|ping)? | gone | retir\w+ | deprecat\w+ | obsolete | legacy
| old | dead | historical\w* | replac\w+ | renam\w+ | mov(?:e|es|ed|ing) | migrated\ (?:to|from|into|away) | supersed\w+
| split\ (?:up|into) | merged\ into | became | rewritten | will\ (?:be|become|get|have|live|move) | going\ to
| plan(?:s|ned|ning)? | to\ be\ \w+ | to-?do | upcoming | future | propos\w+ | someday | would | might
| (?:another|other|separate|different|sister|upstream)\ (?:[\w-]+\ )?(?:repo|repository|project|checkout)
| (?:in|of|from)\ the\ [\w-]+\ (?:repo|repository)
"""
_GERMAN = r"""
nie | niemals | nicht\ (?:mehr|benutzen|verwenden|nutzen|anfassen) | kein\w* | statt | anstatt | anstelle
| früher\w* | ehemal\w+ | alte[nrsm]? | veraltet\w* | gelöscht\w* | lösch\w+ | entfern\w+ | entfällt | weggefallen
| ersetzt\w* | ersetzen | umbenannt\w* | umbenennen | verschoben\w* | verschieben | umgezogen | abgeschafft
| abgelöst | geplant\w* | k(?:ünftig|ommt\ noch)\w* | zukünftig\w* | verboten | vermeide\w*
| (?:anderen|anderes|andere)\ (?:repo|repository|projekt)
"""
_ROMANCE = r"""
supprim\w+ | obsol[èe]te\w* | jamais | (?:est|existe|utilis\w+)\ plus | remplac\w+ | renomm\w+ | déplac\w+
| ancien\w* | au\ lieu | prévu\w* | éviter | ne\ pas | eliminad\w+ | eliminar\w* | eliminamos
| borr(?:ad|ar|amos)\w* | obsolet\w+ | nunca | ya\ no | reemplaz\w+ | renombr\w+ | movid\w+ | movimos | antigu\w+
| en\ lugar\ de | en\ vez\ de | no\ us\w+ | evitar? | remov(?:id|em)\w+ | apag(?:ad|am)\w+ | não\ (?:us\w+|existe)
| renomead\w+ | substitu[íi]\w+ | em\ vez\ de | antig[oa]s? | rimoss\w+ | eliminat\w+ | mai | non\ usare
| sostituit\w+ | rinominat\w+ | spostat\w+ | vecchi\w*
"""
_SLAVIC = r"""
удал\w+ | устаре\w+ | никогда | больше\ не\w* | не\ использ\w+ | переимен\w+ | перемещ\w+ | перенес\w+ | замен\w+
| вместо | стар\w+ | планир\w+ | будет | usun\w+ | nigdy | nie\ używa\w+ | zamiast | przestarza\w+ | przenies\w+
"""
# Written without spaces between words, so nothing can be asked of their borders.
_EAST_ASIAN = r"""
删除 | 刪除 | 删掉 | 删了 | 移除 | 去掉 | 废弃 | 弃用 | 淘汰 | 不要 | 不再 | 不能 | 禁止 | 别用 | 勿 | 避免 | 改名 | 重命名 | 更名 | 迁移 | 移到 | 移动到 | 搬到
| 替换 | 取代 | 代替 | 而不是 | 计划 | 打算 | 将会 | 将要 | 以后 | 旧 | 曾经 | 原来 | 以前 | 另一个仓库 | 削除 | 廃止 | 使わない | 使用しない | 使うな | 予定 | 移動
| リネーム | 置き換え | 代わりに | 非推奨 | もうない | 삭제 | 제거 | 사용하지 | 더\ 이상 | 금지 | 이름을\ 바 | 옮[기겼] | 예정 | 대신
"""

_DISCLAIMER = re.compile(
    rf"\b(?:{_ENGLISH}|{_GERMAN}|{_ROMANCE}|{_SLAVIC})\b | {_EAST_ASIAN} | ~~", re.IGNORECASE | re.VERBOSE
)


def disclaims(prose: str) -> bool:
    """Whether a sentence, given without the code in it, says of what it names that it need not be there."""
    return _DISCLAIMER.search(prose) is not None
