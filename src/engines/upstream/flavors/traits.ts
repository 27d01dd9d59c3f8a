import type { CustomTraits } from '../../../core/flavor.ts';
import type { ModelInput } from '../../../core/model.ts';
import type { Capabilities, ApiFormat, FormatSupport } from '../../engines.ts';
import type { FailureRule } from '../connection/failure-rules.ts';

/**
 * What servers can do with raw prompts: go on with a text as it is (`raw`), take a list of them (`lists`), token ids, make
 * several answers (`n`) and choose among more (`best_of`), tell the prompt and what is known of its tokens (`echo`), write up to
 * a `suffix`.
 */
export type CompletionAbility = 'raw' | 'lists' | 'tokens' | 'n' | 'best_of' | 'echo' | 'suffix';

/**
 * By what a server shows that it works on requests that it does not answer for long.
 * `vllm` and `sglang`: by the counters in `/metrics`; without them by the door, and by what the scheduler answers beside its work
 * (`/health_generate`). `slots`: `/slots`, which is answered between two steps of the work (llama-server). `chat`: a chat of
 * one token, where nobody queues behind others: one that is full would seem to hang. `door`: any answer.
 */
export type LivenessProbe = 'vllm' | 'sglang' | 'slots' | 'chat' | 'door';

/**
 * How a server tells the tokens of a prompt.
 * `input_tokens`: `/v1/chat/completions/input_tokens` takes the request as it is (llama-server since 2026, Offpeak).
 * `count_tokens`: `/v1/messages/count_tokens` takes what a message is asked for with (Anthropic).
 * `messages`: `/tokenize` takes messages and tools (vLLM).
 * `template`: `/apply-template` renders the prompt, `/tokenize` cuts it (llama-server before).
 * `text`: `/tokenize` takes text alone (SGLang): exact but for what the template puts around a message.
 */
export type TokenCounter = 'input_tokens' | 'count_tokens' | 'messages' | 'template' | 'text';

/**
 * How a server tells how it is.
 * `models`: its entry in `/v1/models` (by whatever name the length of the context has there). `vllm` and `sglang`: the
 * same, and in `/metrics` how many requests wait. `props`: `/props` (llama-server). `show`: `/api/show`, and `/api/ps` for
 * the context that it runs with (Ollama).
 */
export type ReportSource = 'models' | 'vllm' | 'sglang' | 'props' | 'show';

/** Members of a request; null removes one. */
export type RequestMembers = Readonly<Record<string, unknown>>;

/**
 * A server's form of the reasoning effort (`flavors/`).
 * `as given`: by `reasoning_effort`. A record: the same, with its own word for some of ours, or the members that replace it.
 * `switch`: as given, and `none` by switching the template, because older versions do not know the word.
 * `template`: by variables of the chat template alone. `left out`: never.
 */
export type EffortMapping =
  | 'as given'
  | 'switch'
  | 'template'
  | 'left out'
  | Readonly<Record<string, string | RequestMembers>>;

/** When several choices are not asked for together (`flavors/`). */
export type SplitChoices = 'always' | 'greedy';

/** What servers of one kind do. */
export interface FlavorTraits {
  /** Differences of some of its models, by their upstream names. The first row whose name matches applies. */
  models?: readonly (readonly [name: RegExp, traits: Partial<FlavorTraits>])[];
  /** The header that carries the key, what stands before it there, and headers that go beside it. */
  auth: { header: string; scheme: string; beside?: Readonly<Record<string, string>> };
  /** What it speaks, if not chat completions (`dialects.ts`). */
  dialect?: 'messages';
  /** How requests in other formats go on to it, unless its configuration says otherwise; `via chat` if absent. */
  formats?: Readonly<Partial<Record<Exclude<ApiFormat, 'completions'>, FormatSupport>>>;
  /** What it can do with raw prompts; absent where it takes none. */
  completions?: readonly CompletionAbility[];
  jsonSchema: Capabilities['jsonSchema'];
  forcedTool: Capabilities['forcedTool'];
  /**
   * Which schemas it takes: any, all but patterns that look around, or those that its grammar holds (`grammar-schema.ts`), which
   * counts so many items, members and characters.
   */
  schemas: 'any' | 'no look-around' | { mostRepeats: number };
  /** Refuses tools with `anyOf`, `oneOf` or `allOf` at the root of their parameters. */
  rootUnions?: 'refused';
  prefixCache: Capabilities['prefixCache'];
  /** The members it is sent beside those that every server is sent (`request-members.ts`). */
  fields: readonly string[];
  /** Members that every other server is sent, `messages.name` for one of each message. */
  without: readonly string[];
  /** What it calls a member that has another name here. */
  names: Readonly<Record<string, string>>;
  /** The ids of calls that it takes; others become nine letters and digits, which all take. Any if absent. */
  callIds?: RegExp;
  /**
   * That it takes the role `developer`, which becomes `system` otherwise: everybody knows that one, and the chat templates of most
   * models no other.
   */
  developerRole?: true;
  /** That it signs the calls that it makes, and refuses them in a conversation without. */
  signsCalls?: 'needed' | 'passed on';
  /** Reports thoughts as `reasoning_details` and wants them back. */
  reasoningDetails?: true;
  /** Which of its models, by name, take tools with free text, and hold the grammars of what they are given. */
  customTools?: RegExp;
  /** Refuses a last turn of the assistant unless it is marked with `prefix`, and then continues it. */
  prefixesLast?: true;
  /** Takes names of tools of more than 64 characters; others get shorter ones (`request/short-names.ts`). */
  longToolNames?: true;
  /** Its form of the reasoning effort. */
  effort: EffortMapping;
  /** Reads `cache_control` of parts, tools and requests; other servers find prefixes by themselves, and some refuse the member. */
  cacheControl?: true;
  /** Takes the reasoning of earlier turns as `thinking` parts of their content, and not as members of messages. */
  thinkingParts?: boolean;
  /** How it counts the tokens of a prompt, in the order in which the ways are tried. */
  tokenCounters: readonly TokenCounter[];
  /** Without a limit its answer may fill the context; with one that is beyond it, it refuses. */
  openLimit?: true;
  /** Where chat completions and embeddings are behind the base of its URL, if not where everybody has them. */
  paths?: CustomTraits['paths'];
  /** Where it tells its usage, if not in `usage`. */
  usage?: CustomTraits['usage'];
  /** Its own words for why an answer ended (`finish-reason.ts` has those of others). */
  finish?: CustomTraits['finish'];
  /** What it tells in a way of its own of why it refused or failed. */
  failures?: readonly FailureRule[];
  /** How it tells how it is, and what its model can do. */
  report: ReportSource;
  /** That it makes none, whatever the model. */
  noEmbeddings?: true;
  /** That it refuses every model that is not in its `/v1/models`. */
  listsAll?: true;
  /** When several choices are asked for one after the other: always, or where nothing is left to chance (temperature 0). */
  splitChoices?: SplitChoices;
  /** That it leaves out what does not fit its context, and answers all the same. */
  truncatesPrompts?: true;
  /** The member that makes it tell, at the beginning of a stream, how far it is with the prompt and what it had read of it before. */
  progress?: string;
  /**
   * That whole answers are asked for as streams, too: then silence tells a server that hangs from one that writes for an hour,
   * and one that nobody waits for any more stops. Not where a stream is dear (vLLM, SGLang) or silent while it thinks.
   * `at once`: a stream begins when it is asked for, `queued`: when it is its turn.
   */
  asStream?: 'at once' | 'queued';
  /** By what it shows that it works, while it answers none of its calls; its door if absent. */
  liveness?: LivenessProbe;
  /** What it may take beside text; whether the model does is known to whoever configures it. */
  inputs: readonly ModelInput[];
}
