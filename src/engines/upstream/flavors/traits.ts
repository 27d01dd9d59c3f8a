import type { CustomTraits } from '../../../core/flavor.ts';
import type { ModelInput } from '../../../core/model.ts';
import type { ApiFormat, Capabilities, FormatSupport } from '../../engines.ts';
import type { FailureRule } from '../connection/failure-rules.ts';

/**
 * Abilities of servers with raw prompts: continue a text without a template (`raw`), take several prompts (`lists`) or token ids
 * (`tokens`), make several answers (`n`) or the best of more (`best_of`), return the prompt with its log probabilities
 * (`echo`), fill in before a `suffix`.
 */
export type CompletionAbility = 'raw' | 'lists' | 'tokens' | 'n' | 'best_of' | 'echo' | 'suffix';

/**
 * Sign of life of a server during long requests.
 * `vllm`, `sglang`: counters in `/metrics`; without them, any reply (vLLM) or `/health_generate` of the scheduler (SGLang).
 * `slots`: `/slots`, which llama-server answers between two steps.
 * `chat`: a chat of one token, for servers that do not queue it behind long requests.
 * `door`: any reply.
 */
export type LivenessProbe = 'vllm' | 'sglang' | 'slots' | 'chat' | 'door';

/**
 * Method of counting the tokens of a prompt.
 * `input_tokens`: `/v1/chat/completions/input_tokens` takes the request (llama-server since 2026, Offpeak).
 * `count_tokens`: `/v1/messages/count_tokens` takes the request for a message (Anthropic).
 * `messages`: `/tokenize` takes messages and tools (vLLM).
 * `template`: `/apply-template` renders the prompt for `/tokenize` (older llama-server).
 * `text`: `/tokenize` takes only text (SGLang): exact except for the template around messages.
 */
export type TokenCounter = 'input_tokens' | 'count_tokens' | 'messages' | 'template' | 'text';

/**
 * Source of a server's report.
 * `models`: its entry in `/v1/models`, with the context length under any common name.
 * `vllm`, `sglang`: the same, with the queue from `/metrics`.
 * `props`: `/props` (llama-server).
 * `show`: `/api/show`, with the running context from `/api/ps` (Ollama).
 */
export type ReportSource = 'models' | 'vllm' | 'sglang' | 'props' | 'show';

/** Members of a request; null removes one. */
export type RequestMembers = Readonly<Record<string, unknown>>;

/**
 * Form of the reasoning effort.
 * `as given`: in `reasoning_effort`. A record: the same, with the server's own words, or with members that replace it.
 * `switch`: as given, but `none` through template variables, because older versions do not know the word.
 * `template`: only through template variables. `left out`: never sent.
 */
export type EffortMapping =
  | 'as given'
  | 'switch'
  | 'template'
  | 'left out'
  | Readonly<Record<string, string | RequestMembers>>;

/** Cases in which several choices are requested one by one: always, or with greedy sampling (temperature 0). */
export type SplitChoices = 'always' | 'greedy';

/** Behaviour of servers of one kind. */
export interface FlavorTraits {
  /** Differences of some models, by their upstream names; the first match applies. */
  models?: readonly (readonly [name: RegExp, traits: Partial<FlavorTraits>])[];
  /** Header of the key, the prefix of its value, and additional headers. */
  auth: { header: string; scheme: string; extraHeaders?: Readonly<Record<string, string>> };
  /** Format other than chat completions that requests are translated to (`dialects.ts`). */
  dialect?: 'messages';
  /** Support of other formats, unless configured; `via chat` if absent. */
  formats?: Readonly<Partial<Record<Exclude<ApiFormat, 'completions'>, FormatSupport>>>;
  /** Abilities with raw prompts; absent where it takes none. */
  completions?: readonly CompletionAbility[];
  jsonSchema: Capabilities['jsonSchema'];
  forcedTool: Capabilities['forcedTool'];
  /** Accepted schemas: any, those without look-around, or those of its grammar (`grammar-schema.ts`) with limited repeats. */
  schemas: 'any' | 'no look-around' | { maxRepeats: number };
  /** Refuses tools with `anyOf`, `oneOf` or `allOf` at the root of their parameters. */
  rootUnions?: 'refused';
  prefixCache: Capabilities['prefixCache'];
  /** Keeps the prefixes of requests with different `cache_salt` apart. */
  cacheSalt?: true;
  /** Members sent in addition to those for every server (`request-members.ts`). */
  fields: readonly string[];
  /** Members not sent, although every other server gets them; `messages.name` names a member of messages. */
  without: readonly string[];
  /** Own names of members. */
  names: Readonly<Record<string, string>>;
  /** Accepted ids of calls; others are replaced by nine letters and digits, which all accept. Any if absent. */
  callIds?: RegExp;
  /** Accepts the role `developer`; otherwise it becomes `system`, because most chat templates lack it. */
  developerRole?: true;
  /** Signs its calls: `needed` where it refuses unsigned ones in a conversation. */
  signsCalls?: 'needed' | 'passed on';
  /** Returns reasoning as `reasoning_details`, and needs them in later turns. */
  reasoningDetails?: true;
  /** Models, by name, that take tools with free text and enforce their grammars. */
  customTools?: RegExp;
  /** Refuses a last assistant turn unless it is marked with `prefix`, and then continues it. */
  prefixesLast?: true;
  /** Accepts tool names of more than 64 characters; others get short ones (`request/short-names.ts`). */
  longToolNames?: true;
  effort: EffortMapping;
  /** Reads `cache_control` of parts, tools and requests; other servers cache prefixes by themselves, and some refuse it. */
  cacheControl?: true;
  /** Takes the reasoning of earlier turns as `thinking` parts of their content. */
  thinkingParts?: boolean;
  /** Methods of counting tokens, in the order in which they are tried. */
  tokenCounters: readonly TokenCounter[];
  /** Lets an answer without a limit fill the context, but refuses a limit beyond it. */
  openLimit?: true;
  /** Paths of chat completions and direct kinds below the base of the URL, if unusual. */
  paths?: CustomTraits['paths'];
  /** Paths of the usage figures, if not in `usage`. */
  usage?: CustomTraits['usage'];
  /** Own finish reasons, besides those of `finish-reason.ts`. */
  finish?: CustomTraits['finish'];
  /** Own forms of refusals and failures. */
  failures?: readonly FailureRule[];
  report: ReportSource;
  /** Has no scores of its own; those of one text against others are a ranking. */
  scoresByRerank?: true;
  /** Has no embeddings with any model. */
  noEmbeddings?: true;
  /** Refuses every model that `/v1/models` does not list. */
  listsAll?: true;
  splitChoices?: SplitChoices;
  /** Silently drops what exceeds its context. */
  truncatesPrompts?: true;
  /** Member that requests the progress of the prompt, with its cached tokens, at the start of a stream. */
  progress?: string;
  /**
   * Streams whole answers too: silence then distinguishes a hang from a long answer, and abandoned requests stop. Not used where
   * streams are costly (vLLM, SGLang) or silent during reasoning. `at once`: a stream starts with the request; `queued`: when its
   * turn comes.
   */
  asStream?: 'at once' | 'queued';
  /** Sign of life; `door` if absent. */
  liveness?: LivenessProbe;
  /** Possible inputs besides text; the configuration knows those of the model. */
  inputs: readonly ModelInput[];
}
