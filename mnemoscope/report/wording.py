"""The report's own words in English and Chinese. Dialogue, names and warnings stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from mnemoscope.core.errors import ConfigError

__all__ = ["Language", "Wording", "wording"]

Language = Literal["en", "zh"]

_WORDS: Mapping[str, tuple[str, str]] = {
    "title": ("Memory comparison", "记忆对比报告"),
    "skip": ("Skip to the results", "跳到结果"),
    "lede": (
        "{systems} systems on {probes} probes from {scenarios} scenarios: what reached the reply, "
        "and where the rest was lost.",
        "{systems} 个系统，{scenarios} 个场景，{probes} 个探针：哪些记忆进入了回复，其余丢失在哪一步。",
    ),
    "nav": ("Contents", "目录"),
    "nav_headline": ("Results", "结果"),
    "nav_funnel": ("Where memory was lost", "记忆丢失在哪里"),
    "nav_strata": ("By stratum", "分层结果"),
    "nav_pairs": ("Differences", "差异"),
    "nav_costs": ("What it took", "代价"),
    "nav_probes": ("Probe by probe", "逐个探针"),
    "nav_data": ("Data and settings", "数据与设置"),
    "caveats": ("Read this first", "请先阅读"),
    "cells": ("Cells", "单元"),
    "cells_value": ("{done} of {expected} done, {failed} failed", "{expected} 个中完成 {done} 个，失败 {failed} 个"),
    "incomplete": ("incomplete", "未完成"),
    "writer": ("Replies written by", "回复生成"),
    "judged_by": ("Judged by", "评判者"),
    "attributed_by": ("Losses attributed by", "丢失归因"),
    "embedder": ("Embedder", "嵌入模型"),
    "budget": ("Memory budget", "记忆预算"),
    "budget_k": ("{k} items", "{k} 条"),
    "budget_tokens": ("{n} tokens (estimate)", "{n} 个词元（估计）"),
    "budget_none": ("no limit", "不限"),
    "data": ("Data", "数据"),
    "captions": ("Image captions", "图片说明"),
    "on": ("on", "开"),
    "off": ("off", "关"),
    "headline_note": (
        "Each cell: the mean in percent, its 95 % interval, and scored cells of those expected. A reply that the "
        "infrastructure failed to produce is not a wrong answer: it is left out of the mean and counted in “strict”, "
        "the figure with every failure as 0, or 1 where lower is better. Bold colour marks the best unprivileged row.",
        "每格：百分比均值、95% 置信区间、已评分数/应评分数。基础设施失败不算答错：不计入均值；"
        "“严格”一栏把每次失败计为 0（越低越好的指标计为 1）。"
        "彩色数字为最好的非特权系统。",
    ),
    "system": ("System", "系统"),
    "lower": ("lower is better", "越低越好"),
    "uncalibrated": ("uncalibrated", "未校准"),
    "task_kappa": ("task {task}:", "所用任务 {task}："),
    "rule": ("a fixed rule, no judge", "固定规则，无评判者"),
    "strict": ("strict", "严格"),
    "vs_none": ("{v} vs none", "较 none {v}"),
    "vs_oracle": ("{v} vs oracle", "较 oracle {v}"),
    "gap_note": (
        "vs none, vs oracle: points above or below the same profile and settings without any memory, and with the "
        "gold evidence given.",
        "较 none、较 oracle：与同一方式、同一设置下无记忆、以及给出标准证据时相差的百分点。",
    ),
    "other_setting": ("other {name}", "{name} 不同"),
    "unequal_note": (
        "“other …” marks a setting that differs from most rows; such rows get no mark against the others.",
        "“… 不同”表示该设置与多数行不同；与其他行之间不标显著性。",
    ),
    "imported_note": (
        "Rows in italics are imported: made elsewhere, under conditions that are not known here. They are not ranked.",
        "斜体行为导入结果：在别处、以未知条件得到，不参与排名。",
    ),
    "flips": ("{share} % of votes differ", "{share}% 的投票不一致"),
    "within_flips": ("within the judge’s flips", "在评判波动之内"),
    "doubt": ("judge doubt", "评判存疑"),
    "raw": ("What the judge said", "评判原文"),
    "prompt_sha": ("prompt {sha}", "提示 {sha}"),
    "judgements": ("Judgements", "评判次数"),
    "judgements_value": ("{failed} of {asked} failed, {share}", "{asked} 次中失败 {failed} 次，{share}"),
    "unshown": ("unverified", "未经验证"),
    "privileged": ("reads gold", "读取标准答案"),
    "privileged_note": (
        "Rows marked “reads gold” are ceilings, not competitors: they are told the answer’s evidence.",
        "标有“读取标准答案”的行是上限，不是参赛者：它们被告知了证据。",
    ),
    "evidence_note": (
        "package: the method itself or the system’s own code · model: written anew, with a model · twin: rules in a "
        "model’s place. No mark is set across these classes. Unverified: not shown to find as much as the system of "
        "that name.",
        "package：方法本身或系统自带代码 · model：用模型重新实现 · twin：以规则代替模型。不同类别之间不标显著性。"
        "未经验证：尚无测试表明它与同名系统找到的一样多。",
    ),
    "one_cluster": ("1 cluster", "仅 1 个聚类"),
    "not_scored": ("not scored", "未评分"),
    "funnel_note": (
        "Each bar is all gold facts that the replies of one system should have brought up; failed cells are left out, "
        "and of a pool’s nice memories one is wanted. "
        "Read it from the right: the darkest part was never stored; what "
        "remains was stored but not handed over by the memory; then handed over but not planned; planned but not said; "
        "said, but wrong. The green part on the left is what reached the user. So the edge between two colours is the "
        "share that survived that stage.",
        "每条横条是一个系统的回复应提及的全部标准事实；失败的单元不计，可选记忆只需其一。"
        "从右往左读：最深色从未存储；其次已存储但未取回；再次已取回但未列入计划；"
        "已计划但未说出；说了但说错。左侧绿色到达了用户。两色的交界就是通过该阶段的比例。",
    ),
    "unknown_note": (
        "The grey part is not right either, and where it was lost cannot be told: gold names no turns for these facts, "
        "and no text of the history is seen to state them.",
        "灰色部分同样未正确说出，但无法判断丢失在哪一步：标准答案未指明轮次，历史文本中也未见其陈述。",
    ),
    "kept": ("right", "正确说出"),
    "unknown": ("lost, unknown where", "丢失环节未知"),
    "wrong": ("said, but wrong", "说错"),
    "not-said": ("planned, not said", "已计划未说出"),
    "not-planned": ("retrieved, not planned", "已取回未计划"),
    "not-retrieved": ("stored, not retrieved", "已存储未取回"),
    "not-stored": ("not stored", "未存储"),
    "facts": ("gold facts", "标准事实"),
    "non_monotone": ("said although lost earlier", "前面已丢失却仍说出"),
    "routes": ("provenance and text disagree", "来源与文本判断不一致"),
    "funnel_table": ("The same as numbers", "同样内容的数字"),
    "funnel_empty": ("No probe of this run has gold facts to follow.", "本次运行没有可追踪的标准事实。"),
    "strata_note": (
        "Strata are named as their source names them ({source}); n is the number of probes expected.",
        "分层名称依据其来源（{source}）；n 为应评探针数。",
    ),
    "pairs_note": (
        "Left system minus right system on the same probes, in percentage points. The p-value to believe is the "
        "clustered one, adjusted over the pairs of a metric; with few clusters only large differences can show (“can "
        "show”: the smallest difference that would be found in 80 % of cases; none for few clusters). No mark is set "
        "across evidence classes, for systems that read gold, or under unequal conditions.",
        "同一批探针上左系统减右系统，单位为百分点。应看聚类后并经多重比较校正的 p 值；聚类少时只有大差异才能显现"
        "（“可检出”：80% 情形下能发现的最小差异；聚类过少时没有）。"
        "不同证据类别、读取标准答案或条件不等时不标显著性。",
    ),
    "pairs_empty": ("Fewer than two systems share probes.", "共享探针的系统不足两个。"),
    "pairs_baseline": ("Each system is compared with {baseline}.", "各系统均与 {baseline} 比较。"),
    "pairs_chosen": (
        "Each system is compared with {baseline}: of more than eight systems not every pair is compared, and no "
        "--baseline was given, so it is the first of recent, full-context, bm25 and none that is there, else the first "
        "system.",
        "各系统均与 {baseline} 比较：系统超过八个时不逐对比较；未给出 --baseline，因此取 recent、full-context、bm25、"
        "none 中第一个存在的系统，否则取第一个系统。",
    ),
    "difference": ("Difference", "差异"),
    "p_plain": ("p", "p"),
    "p_clustered": ("p, clustered", "聚类 p"),
    "p_adjusted": ("p, adjusted", "校正 p"),
    "clusters": ("clusters", "聚类数"),
    "mde": ("can show", "可检出"),
    "no_difference": ("no difference shown", "未见差异"),
    "differs": ("differs", "有差异"),
    "equivalent": ("equivalent within the margin", "在界值内等效"),
    "not_comparable": ("not comparable", "不可比"),
    "costs_note": (
        "Per reply where it says so; times are of this machine and never part of a result. Systems that share a memory "
        "share its ingest.",
        "注明处为每次回复；时间取决于本机，不属于结果。共用记忆的系统共用其写入。",
    ),
    "c_context": ("memory tokens per reply", "每次回复的记忆词元"),
    "c_given": ("memories per reply", "每次回复的记忆条数"),
    "c_calls": ("model calls", "模型调用"),
    "c_tokens": ("tokens in / out", "输入/输出词元"),
    "c_embedded": ("texts embedded", "嵌入文本"),
    "c_reply": ("ms per reply", "每次回复毫秒"),
    "c_length": ("characters per reply", "每次回复字符"),
    "c_ingest": ("s to ingest", "写入秒数"),
    "estimate": ("estimate", "估计"),
    "probes_all": ("All {n} probes.", "全部 {n} 个探针。"),
    "probes_some": (
        "{shown} of {n} probes are shown, those that most systems missed first; {omitted} are left out to keep this "
        "page light. They are counted in every figure above; report --probe ID shows any of them.",
        "显示 {n} 个探针中的 {shown} 个，多数系统出错者在前；"
        "为保持页面轻便略去 {omitted} 个，但上面所有数字都包含它们；用 report --probe ID 可显示其中任何一个。",
    ),
    "find": ("Find in questions, replies, memories", "在问题、回复、记忆中查找"),
    "any_stage": ("any outcome", "任意结果"),
    "fold": ("Open or close all", "全部展开或收起"),
    "found": ("% probes", "% 个探针"),
    "history": ("History up to the cut", "切点之前的历史"),
    "gap": ("{n} turns not shown", "略去 {n} 轮"),
    "current_session": ("current session", "当前会话"),
    "gold_mark": ("gold", "标准证据"),
    "persona": ("Persona", "人设"),
    "pool": ("Memories given with the probe", "随探针给出的记忆"),
    "role_hidden": ("label hidden from systems", "标签对系统隐藏"),
    "hidden": ("Hidden from every system that does not say “reads gold”", "对所有未标“读取标准答案”的系统隐藏"),
    "answers": ("Right answers", "正确答案"),
    "gold_facts": ("Facts a good reply knows", "好回复应知的事实"),
    "evidence": ("Evidence", "证据"),
    "unresolvable": ("Evidence that names nothing in the history", "在历史中无所指的证据"),
    "trap": ("The answer of a fooled assistant", "上当的回答"),
    "unanswerable": (
        "The right reply rejects the premise or says that it was not mentioned.",
        "正确回复应否定前提或说明未曾提及。",
    ),
    "premise": ("The user wrongly asserts", "用户的错误断言"),
    "truth": ("The history says", "历史记载"),
    "windows": ("When to bring it up", "何时提起"),
    "expected": ("Ideal reply", "理想回复"),
    "rubric": ("Rubric", "评分标准"),
    "show_stored": ("Stored", "已存储"),
    "show_scores": ("Retrieval scores", "检索得分"),
    "show_given": ("Retrieved", "已取回"),
    "stored_line": ("{n} stored with gold", "存储中 {n} 条含标准证据"),
    "stored_forgotten": ("{n} stored with gold, all forgotten", "曾存储 {n} 条含标准证据，均已遗忘"),
    "stored_none": ("none stored with gold", "存储中无标准证据"),
    "stored_unknown": ("the run file holds no audit of this memory", "运行文件没有该记忆的审计"),
    "retrieved_line": ("{n} given, {gold} with gold", "取回 {n} 条，{gold} 条含标准证据"),
    "tokens_given": ("{n} tokens (estimate)", "{n} 个词元（估计）"),
    "slots": ("{n} slots", "{n} 个槽位"),
    "retrieved_none": ("nothing was given", "没有取回"),
    "below": ("gold also stands at rank {ranks}, not given", "标准证据还排在第 {ranks} 位，未给出"),
    "queries": ("asked instead", "改写后的查询"),
    "more": ("and {n} more", "另有 {n} 条"),
    "tombstone": ("no longer holds", "已失效"),
    "plan": ("Plan", "计划"),
    "no_slots": ("no slots", "无槽位"),
    "realised": ("said", "已说出"),
    "unrealised": ("not said", "未说出"),
    "unverified": ("not verified", "未核验"),
    "verdicts": ("Verdicts", "评判"),
    "metric": ("Metric", "指标"),
    "subject": ("About", "对象"),
    "label": ("Outcome", "结果"),
    "score": ("Score", "分数"),
    "quote": ("Words it rests on", "依据的原文"),
    "spans": ("Nodes", "节点"),
    "slots_said": ("{said}/{all} slots said", "{all} 个槽位说出 {said} 个"),
    "fallback": ("a plain sentence was appended", "末尾补了一句"),
    "drafts": ("{n} drafts", "{n} 稿"),
    "outcome": ("{right} of {all} facts", "{all} 条事实说对 {right} 条"),
    "tally": ("{right} of {all} systems get it right", "{all} 个系统中 {right} 个做对"),
    "o_none": ("no gold fact", "无标准事实"),
    "o_passed": ("passed", "通过"),
    "o_missed": ("missed", "未通过"),
    "o_error": ("failed", "失败"),
    "o_excluded": ("not asked", "未询问"),
    "o_missing": ("not there yet", "尚无结果"),
    "silent": ("says nothing", "没有说话"),
    "replicate": ("first of {n} replicates", "{n} 次重复中的第一次"),
    "known_errors": ("Known errors", "已知错误"),
    "annotation": ("Labels", "标注"),
    "licence": ("Licence", "许可"),
    "source": ("Source", "来源"),
    "mode": ("Mode", "模式"),
    "settings": ("Settings", "设置"),
    "packages": ("Packages", "软件包"),
    "run_file": ("Run file", "运行文件"),
    "metrics_all": ("All metrics", "全部指标"),
    "footer": (
        "Made by mnemoscope {version} from {files}. Content hash {hash}: a table "
        "made from run files with the same hash shows the same figures.",
        "由 mnemoscope {version} 根据 {files} 生成。内容哈希 {hash}：由相同哈希的运行文件生成的表格数字相同。",
    ),
}


class Wording:
    """Looks words up in one language."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._place = get_args(Language).index(language)

    def __call__(self, key: str, **values: object) -> str:
        """The words for a key, with its places filled in; a key without words stands for itself."""
        words = _WORDS.get(key)
        if words is None:
            return key
        return words[self._place].format(**values) if values else words[self._place]


def wording(language: str) -> Wording:
    """The report's words in one language.

    Raises:
        ConfigError: A language that the report does not speak.

    Example:
        >>> wording("en")("more", n=3)
        'and 3 more'
    """
    for known in get_args(Language):
        if language == known:
            return Wording(known)
    raise ConfigError(f"the report speaks {', '.join(get_args(Language))}, not {language!r}")
