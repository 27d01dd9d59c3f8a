import type { CustomTraits } from '../../../core/flavor.ts';
import type { ModelInput } from '../../../core/model.ts';
import type { Capabilities, Op, Speech } from '../../engines.ts';
import type { FailureRow } from '../connection/failures.ts';
import type { Apart } from '../answer/choices.ts';
import type { CountWay } from '../probe/count-tokens.ts';
import type { EffortWay } from '../request/reasoning-effort.ts';
import type { ReportWay } from '../probe/reports.ts';

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
export type LifeWay = 'vllm' | 'sglang' | 'slots' | 'chat' | 'door';

/** What servers of one kind do. */
export interface FlavorTraits {
  /** Differences of some of its models, by their upstream names. The first row whose name matches applies. */
  models?: readonly (readonly [name: RegExp, traits: Partial<FlavorTraits>])[];
  /** The header that carries the key, what stands before it there, and headers that go beside it. */
  auth: { header: string; scheme: string; beside?: Readonly<Record<string, string>> };
  /** What it speaks, if not chat completions (`dialects.ts`). */
  format?: 'messages';
  /** How requests in other formats go on to it, unless its configuration says otherwise; `via chat` if absent. */
  speaks?: Readonly<Partial<Record<Exclude<Op, 'completions'>, Speech>>>;
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
  effort: EffortWay;
  /** Reads `cache_control` of parts, tools and requests; other servers find prefixes by themselves, and some refuse the member. */
  cacheControl?: true;
  /** Takes the reasoning of earlier turns as `thinking` parts of their content, and not as members of messages. */
  thinkingParts?: boolean;
  /** How it counts the tokens of a prompt, in the order in which the ways are tried. */
  counter: readonly CountWay[];
  /** Without a limit its answer may fill the context; with one that is beyond it, it refuses. */
  openLimit?: true;
  /** Where chat completions and embeddings are behind the base of its URL, if not where everybody has them. */
  paths?: CustomTraits['paths'];
  /** Where it tells its usage, if not in `usage`. */
  usage?: CustomTraits['usage'];
  /** Its own words for why an answer ended (`finish-reason.ts` has those of others). */
  finish?: CustomTraits['finish'];
  /** What it tells in a way of its own of why it refused or failed. */
  failures?: readonly FailureRow[];
  /** How it tells how it is, and what its model can do. */
  report: ReportWay;
  /** That it makes none, whatever the model. */
  noEmbeddings?: true;
  /** That it refuses every model that is not in its `/v1/models`. */
  listsAll?: true;
  /** When several choices are asked for one after the other: always, or where nothing is left to chance (temperature 0). */
  choicesApart?: Apart;
  /** That it leaves out what does not fit its context, and answers all the same. */
  cutsPrompts?: true;
  /** The member that makes it tell, at the beginning of a stream, how far it is with the prompt and what it had read of it before. */
  progress?: string;
  /**
   * That whole answers are asked for as streams, too: then silence tells a server that hangs from one that writes for an hour,
   * and one that nobody waits for any more stops. Not where a stream is dear (vLLM, SGLang) or silent while it thinks.
   * `at once`: a stream begins when it is asked for, `queued`: when it is its turn.
   */
  asStream?: 'at once' | 'queued';
  /** By what it shows that it works, while it answers none of its calls; its door if absent. */
  life?: LifeWay;
  /** What it may take beside text; whether the model does is known to whoever configures it. */
  inputs: readonly ModelInput[];
}
