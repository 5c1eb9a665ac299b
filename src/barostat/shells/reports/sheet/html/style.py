"""The one style of every page: type, colours by the reader's preference, cards, tables, charts,
print. No page has rules of its own.
"""

from __future__ import annotations

_COLOURS = """
:root{color-scheme:light dark;--paper:#fff;--panel:#f6f8fa;--ink:#1b1f24;--soft:#57606a;--rule:#d0d7de;--main:#0b57d0;--pale:#a8c7fa;
--second:#b45309;--third:#7c3aed;--bad:#b3261e;--warning:#8a5a00;--good:#1a7f37;--on-badge:#fff;--edge:rgba(27,31,36,.18);
--calm:#d0d7de;--prepare:#9cc8ff;--change:#ffc46b;--verify:#c3b3ff;--promote:#93d8a4;--back:#ff9d97;--part-other:#9aa0a6}
@media screen and (prefers-color-scheme:dark){:root{--paper:#101418;--panel:#191f26;--ink:#e6e9ed;--soft:#a0abb6;--rule:#333c47;
--main:#7cacf8;--pale:#3a5c92;--second:#f0a35e;--third:#b79cf7;--bad:#f2857c;--warning:#e0b04a;--good:#63c482;--on-badge:#101418;--edge:rgba(0,0,0,.75);
--calm:#4a545f;--prepare:#2f6db3;--change:#b27a1f;--verify:#7a62c9;--promote:#2f8a4a;--back:#b5423b;--part-other:#7d868f}}
"""

_TYPE = """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{font:16px/1.55 system-ui,"Segoe UI",Roboto,Helvetica,Arial,sans-serif;color:var(--ink);background:var(--paper);margin:0;
overflow-wrap:anywhere}
main{max-width:66rem;margin:0 auto;padding:1.5rem 1rem 3rem}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .25rem;text-wrap:balance}h2{font-size:1.2rem;margin:2.2rem 0 .6rem;line-height:1.3}
h3{font-size:1rem;margin:1.6rem 0 .3rem}p{margin:.5rem 0}.kicker{font-size:.8rem;font-weight:600;letter-spacing:.04em;margin:0 0 .3rem;
color:var(--main)}.soft{color:var(--soft)}.lead,main>p,section>p,li{max-width:46rem}
ul,ol{margin:.3rem 0;padding-left:1.4rem}li{margin:.35rem 0}
code{font:.88em/1.4 ui-monospace,"SF Mono",Menlo,Consolas,monospace;background:var(--panel);border:1px solid var(--rule);
padding:.05rem .35rem;border-radius:.25rem;-webkit-box-decoration-break:clone;box-decoration-break:clone}
section{border-top:1px solid var(--rule);margin-top:2.5rem;padding-top:1.5rem}section>h2:first-child{margin-top:0}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:0 2.5rem}
details{margin:.2rem 0 .4rem;color:var(--soft)}details li{font-size:.9rem;max-width:none}summary{cursor:pointer;font-size:.9rem}
.whole{white-space:nowrap}footer{margin-top:3rem;border-top:1px solid var(--rule);color:var(--soft);font-size:.85rem}
"""

_PARTS = """
.verdict{border-left:.35rem solid var(--soft);background:var(--panel);border-radius:0 .4rem .4rem 0;padding:.7rem 1rem;margin:1rem 0}
.verdict p{margin:.25rem 0;max-width:52rem}.verdict b{font-size:1.15rem}
.badge{display:inline-block;font-size:.75rem;font-weight:700;letter-spacing:.05em;padding:.12rem .55rem;border-radius:.25rem;
color:var(--on-badge);background:var(--soft);margin-right:.6rem;vertical-align:.12em;white-space:nowrap}
.none .badge,.badge.none{background:var(--good)}.verdict.none{border-color:var(--good)}
.info .badge,.badge.info{background:var(--main)}.verdict.info{border-color:var(--main)}
.warning .badge,.badge.warning{background:var(--warning)}.verdict.warning{border-color:var(--warning)}
.critical .badge,.badge.critical{background:var(--bad)}.verdict.critical{border-color:var(--bad)}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.6rem;margin:1rem 0;padding:0}
.figures div{border:1px solid var(--rule);border-radius:.4rem;padding:.55rem .8rem}.figures dt{color:var(--soft);font-size:.85rem}
.figures dd{margin:0;font-size:1.3rem;line-height:1.3;font-weight:600;font-variant-numeric:tabular-nums}
.figures small{display:block;color:var(--soft);font-size:.8rem;font-weight:400}
.tag{font-size:.8rem;color:var(--soft);border:1px solid var(--rule);border-radius:.7rem;padding:.02rem .55rem;margin-left:.2rem;
white-space:nowrap}
.scroll{overflow-x:auto;margin:.6rem 0;background:linear-gradient(to right,var(--paper) 30%,transparent) left/2.5rem 100% no-repeat local,
linear-gradient(to left,var(--paper) 30%,transparent) right/2.5rem 100% no-repeat local,
linear-gradient(to right,var(--edge),transparent) left/.8rem 100% no-repeat,
linear-gradient(to left,var(--edge),transparent) right/.8rem 100% no-repeat}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
td,th{padding:.35rem .85rem .35rem 0;text-align:right;vertical-align:top;border-bottom:1px solid var(--rule)}
table:has(th:nth-child(10)){font-size:.86rem}table:has(th:nth-child(10)) :is(td,th){padding-right:.7rem}
table:has(th:nth-child(10)) :is(td,th):last-child{padding-right:0}
th{color:var(--soft);font-weight:600;vertical-align:bottom}td,th{white-space:nowrap}
td.words,th.words{text-align:left;white-space:normal;overflow-wrap:break-word}td.words:last-child{min-width:13rem}
td.mono,th.mono{font-family:ui-monospace,"SF Mono",Menlo,Consolas,monospace;font-size:.86rem}
td.mono.words{min-width:9rem}td.words:first-child:not(:only-child){min-width:7rem}
tr.chosen td{font-weight:700}td:last-child,th:last-child{padding-right:0}
.facts{display:grid;grid-template-columns:max-content 1fr;gap:.3rem 1.2rem;margin:1rem 0}.facts dt{color:var(--soft)}
.facts dd{margin:0;max-width:46rem}
@media (max-width:34rem){h1{font-size:1.3rem}
.scroll :is(td,th):first-child:not(:only-child){position:sticky;left:0;background:var(--paper);max-width:8.5rem;z-index:1}
.facts{grid-template-columns:1fr;gap:0}.facts dd{margin-bottom:.5rem}
.figures{grid-template-columns:repeat(2,1fr)}.figures dd{font-size:1.15rem}
th{white-space:normal;overflow-wrap:break-word}td.words:last-child{min-width:20rem}td.mono.words{min-width:7rem}
td.words:nth-child(2):not(:last-child){min-width:10.5rem}
tr:has(>.words:last-child:nth-child(n+3)){display:flex;flex-wrap:wrap;column-gap:.9rem;
border-bottom:1px solid var(--rule);padding:.35rem 0}
tr:has(>.words:last-child:nth-child(n+3))>*{border:0;padding:.05rem 0;min-width:0;max-width:100%;white-space:normal}
tr:has(>.words:last-child:nth-child(n+3))>:first-child{position:static;max-width:100%}
tr:has(>.words:last-child:nth-child(n+3))>td:last-child{flex-basis:100%;color:var(--soft)}}
"""

_CHARTS = """
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:1.2rem 1.8rem;margin:1rem 0}
figure{margin:0;max-width:25rem;break-inside:avoid;display:flex;flex-direction:column;justify-content:flex-end}
figcaption{font-weight:600;font-size:.92rem;margin-bottom:.15rem}
figcaption span:not(.whole){font-weight:400;color:var(--soft);font-size:.85rem}
.phases{max-width:30rem;margin:1rem 0}.wide{max-width:none;margin:.8rem 0}svg{display:block;width:100%;height:auto;overflow:visible}
svg text{font:11px system-ui,"Segoe UI",Roboto,Helvetica,Arial,sans-serif;fill:var(--soft)}
.line{fill:none;stroke:var(--main);stroke-width:1.7;stroke-linejoin:round;stroke-linecap:round}.pale{stroke:var(--pale)}
.second{stroke:var(--second)}.third{stroke:var(--third)}
.faint{opacity:.55}.dashed{stroke-dasharray:6 4;stroke-width:1.3}.band{opacity:.35}
.axis{fill:none;stroke:var(--rule)}.grid{stroke:var(--rule);stroke-dasharray:2 3}
.limit{stroke:var(--bad);stroke-dasharray:5 3;stroke-width:1.2}
svg text.limit-name,svg text.mark-name,svg text.reading,.charts text.row-name
{paint-order:stroke;stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}
svg text.limit-name{fill:var(--bad)}.mark{stroke:var(--soft);stroke-width:1}svg text.mark-name{fill:var(--ink);font-weight:600}
.dot{fill:var(--main)}.dot.second{fill:var(--second);stroke:none}.dot.pale{stroke:none;fill:var(--pale)}
.dot.third{fill:var(--third);stroke:none}
.entry{font-weight:400;display:inline-block;max-width:100%;margin-right:.8em}
.key{display:inline-block;width:1.1em;height:.25em;vertical-align:middle;--key:var(--main);background:var(--key);margin:0 .35em 0 0}
.key.pale{--key:var(--pale)}.key.second{--key:var(--second)}.key.third{--key:var(--third)}
.key.dashed{background:repeating-linear-gradient(to right,var(--key) 0 .35em,transparent .35em .55em)}
.hit{fill:none;pointer-events:all}.guide{stroke:var(--ink);stroke-width:.8}svg text.reading{fill:var(--ink);pointer-events:none;
font-variant-numeric:tabular-nums}.at .guide,.at .reading{visibility:hidden}.at:hover .guide,.at:hover .reading{visibility:visible}
svg text.row-name{fill:var(--ink)}.chosen .row-name{font-weight:700}.whisker{stroke:var(--main);stroke-width:5;opacity:.3}
.is-calm{fill:var(--calm)}.is-prepare{fill:var(--prepare)}.is-change{fill:var(--change)}.is-verify{fill:var(--verify)}
.is-promote{fill:var(--promote)}.is-done{fill:var(--good)}.is-back{fill:var(--back)}.is-bad{fill:var(--bad)}
.is-weights{fill:var(--main);background:var(--main)}.is-activations{fill:var(--second);background:var(--second)}
.is-non-torch{fill:var(--part-other);background:var(--part-other)}.is-graphs{fill:var(--third);background:var(--third)}
.is-kv-cache{fill:var(--good);background:var(--good)}.is-end{fill:var(--ink);background:var(--ink)}.is-unused{fill:var(--calm);background:var(--calm)}
.key.square{width:.75em;height:.75em;border-radius:.15em;margin-left:0}.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;
font-size:.88rem;margin:.4rem 0;padding:0;list-style:none}.legend li{margin:0;white-space:nowrap}
"""

_PRINT = """
@media print{body{font-size:11pt}main{max-width:none;padding:0}.charts{grid-template-columns:1fr 1fr}.scroll{overflow:visible}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}tr,li,.verdict,.figures div{break-inside:avoid}h2,h3{break-after:avoid}
details::details-content{content-visibility:visible;block-size:auto}table{font-size:8.5pt}td,th{padding-right:.6rem}}
"""

STYLE = "".join((_COLOURS, _TYPE, _PARTS, _CHARTS, _PRINT))
