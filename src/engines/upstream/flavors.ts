import type { Flavor, OwnTraits } from '../../core/flavor.ts';
import type { ModelInput } from '../../core/model.ts';
import type { Capabilities, Op, Speech } from '../engines.ts';
import type { CompletionAbility } from './completions/plan.ts';
import type { CountWay } from './count-tokens.ts';
import type { EffortWay } from './reasoning-effort.ts';
import type { ReportWay } from './reports.ts';

/** A difference between servers, and why it is believed. */
interface Flag<T> {
  value: T;
  reason: string;
}

export interface FlavorTraits {
  /** The header that carries the key, what stands before it there, and headers that go beside it. */
  auth: Flag<{ header: string; scheme: string; beside?: Readonly<Record<string, string>> }>;
  /** What it speaks, if not chat completions (`dialects.ts`). */
  format?: Flag<'messages'>;
  /** How requests in other formats go on to it, unless its configuration says otherwise; `via chat` if absent. */
  speaks?: Readonly<Partial<Record<Exclude<Op, 'completions'>, Flag<Speech>>>>;
  /** What it can do with raw prompts; absent where it takes none. */
  completions?: Flag<readonly CompletionAbility[]>;
  jsonSchema: Flag<Capabilities['jsonSchema']>;
  forcedTool: Flag<Capabilities['forcedTool']>;
  prefixCache: Flag<Capabilities['prefixCache']>;
  /** The members it is sent beside those that every server is sent (`request-members.ts`). */
  fields: Flag<readonly string[]>;
  /** Members that every other server is sent, `messages.name` for one of each message. */
  without: Flag<readonly string[]>;
  /** What it calls a member that has another name here. */
  names: Flag<Readonly<Record<string, string>>>;
  /** Whether the role `developer` may be sent; it becomes `system` otherwise. */
  developerRole: Flag<boolean>;
  /** That it signs the calls that it makes, and refuses them in a conversation without. */
  signsCalls?: Flag<'needed' | 'passed on'>;
  /** How it is told how hard to think. */
  effort: Flag<EffortWay>;
  /** How it counts the tokens of a prompt, in the order in which the ways are tried. */
  counter: Flag<readonly CountWay[]>;
  /** Without a limit its answer may fill the context; with one that is beyond it, it refuses. */
  openLimit?: Flag<true>;
  /** Where chat completions and embeddings are behind the base of its URL, if not where everybody has them. */
  paths?: Flag<OwnTraits['paths']>;
  /** Where it tells its usage, if not in `usage`. */
  usage?: Flag<OwnTraits['usage']>;
  /** Its own words for why an answer ended (`finish-reason.ts` has those of others). */
  finish?: Flag<OwnTraits['finish']>;
  /** How it tells how it is, and what its model can do. */
  report: Flag<ReportWay>;
  /** That it leaves out what does not fit its context, and answers all the same. */
  cutsPrompts?: Flag<true>;
  /** The member that makes it tell, at the beginning of a stream, how far it is with the prompt and what it had read of it before. */
  progress?: Flag<string>;
  /**
   * That whole answers are asked for as streams, too: then silence tells a server that hangs from one that writes for an hour,
   * and one that nobody waits for any more stops. Not where a stream is dear (vLLM, SGLang) or silent while it thinks.
   */
  asStream?: Flag<true>;
  /** That its door answers whatever the engine behind it does: where it does not, nobody works there any more. */
  alwaysAnswers?: Flag<true>;
  /** What it may take beside text; whether the model does is known to whoever configures it. */
  inputs: Flag<readonly ModelInput[]>;
}

const native = (reason: string) => ({ value: 'native' as const, reason });
const viaChat = (reason: string) => ({ value: 'via chat' as const, reason });
const shared = (reason: string) => ({ value: 'shared' as const, reason });
const no = (reason: string) => ({ value: false, reason });
const fields = (names: string, reason: string) => ({ value: names.split(/\s+/), reason });
const newer = viaChat(
  'newer versions have it, and none tells which it is; what it makes of tools differs by version',
);
const newerHaveBoth = { messages: newer, responses: newer };
const bearer = { value: { header: 'authorization', scheme: 'Bearer ' }, reason: 'documented' };
const byModels: FlavorTraits['report'] = {
  value: 'models',
  reason: 'everybody lists models; some tell the length of the context there',
};
const completions = (abilities: readonly CompletionAbility[], reason: string) => ({
  value: abilities,
  reason,
});
const all = ['lists', 'tokens', 'n', 'best_of', 'echo', 'suffix'] as const;
const hosted = { value: [], reason: 'it counts no chat completions' };
const nothing = { value: [], reason: 'what it does not know, it passes over' };
/** The older name is the one that everybody reads. */
const maxTokens = { max_completion_tokens: 'max_tokens' };
const byTemplate = 'the chat template decides which roles exist, and most templates do not know this one';

const openai: FlavorTraits = {
  auth: bearer,
  speaks: {
    responses: native('encrypted reasoning, custom tools and the phases of an answer are lost otherwise'),
  },
  completions: completions(all, 'documented, for models that have them; the others say so'),
  jsonSchema: native('strict structured output'),
  forcedTool: native('documented'),
  prefixCache: shared('documented: prompts of 1,024 tokens and more'),
  fields: fields(
    'prediction prompt_cache_key prompt_cache_retention verbosity',
    'documented; any that is not known is refused, and others (service_tier, web_search_options) cost extra',
  ),
  without: nothing,
  names: { value: {}, reason: 'reasoning models refuse max_tokens, older ones take both' },
  developerRole: { value: true, reason: 'documented' },
  effort: { value: 'as given', reason: 'documented; which words a model takes is its own' },
  counter: { value: [], reason: 'it counts requests of another format only' },
  report: byModels,
  inputs: { value: ['image', 'audio', 'file'], reason: 'documented' },
};

/** What servers of each kind do by themselves (wire-formats.md, sections 0.8, 2.3 and 2.4). */
export const flavorTraits: Record<Flavor, FlavorTraits> = {
  vllm: {
    auth: bearer,
    speaks: newerHaveBoth,
    completions: completions(
      ['lists', 'tokens', 'n', 'echo'],
      'a suffix is refused, and best_of is no longer known',
    ),
    jsonSchema: native('guided decoding, but skipped together with some reasoning parsers (vllm #52594)'),
    forcedTool: native('a named tool becomes guided decoding of its parameters'),
    prefixCache: shared('blocks of the cache are found by their content (automatic prefix caching)'),
    fields: fields(
      `top_k min_p repetition_penalty min_tokens stop_token_ids bad_words include_stop_str_in_output
      skip_special_tokens chat_template_kwargs`,
      'documented as sampling; its budget of thinking has another name, and is refused unless it was started for it',
    ),
    without: nothing,
    names: {
      value: { ...maxTokens, repeat_penalty: 'repetition_penalty' },
      reason: 'every version knows max_tokens; old ones know no other',
    },
    openLimit: {
      value: true,
      reason: 'max_tokens beyond max_model_len is a 400; left out, it is what the prompt leaves',
    },
    developerRole: no(byTemplate),
    effort: {
      value: 'switch',
      reason: 'every word is taken today, and given to the template; versions before that refuse none',
    },
    counter: { value: ['messages'], reason: '/tokenize renders messages as chat completions do' },
    report: {
      value: 'vllm',
      reason: 'max_model_len stands in /v1/models, num_requests_waiting in /metrics; its slots are not told',
    },
    alwaysAnswers: { value: true, reason: 'the engine is a process of its own' },
    inputs: { value: ['image', 'audio'], reason: 'a part of another type is refused' },
  },
  sglang: {
    auth: bearer,
    completions: completions(
      ['lists', 'tokens', 'n', 'echo'],
      'a suffix is for models with a template for it',
    ),
    jsonSchema: native('grammar backend behind response_format'),
    forcedTool: native('a named tool becomes a grammar of its parameters'),
    prefixCache: shared('one radix tree for all requests'),
    fields: fields(
      'top_k min_p repetition_penalty min_tokens stop_token_ids skip_special_tokens chat_template_kwargs',
      'documented as sampling; it has no budget of thinking',
    ),
    without: nothing,
    names: {
      value: { ...maxTokens, repeat_penalty: 'repetition_penalty' },
      reason: 'every version knows max_tokens',
    },
    developerRole: no(byTemplate),
    effort: {
      value: 'switch',
      reason:
        'every word is taken today; none switches the template, in older versions only by its variables',
    },
    counter: { value: ['text'], reason: '/tokenize does not know messages' },
    report: {
      value: 'sglang',
      reason: 'max_model_len stands in /v1/models, num_queue_reqs in /metrics where it was started with them',
    },
    alwaysAnswers: { value: true, reason: 'the engine is a process of its own' },
    inputs: { value: ['image', 'audio'], reason: 'there is no part for files' },
  },
  'llama-server': {
    auth: bearer,
    speaks: newerHaveBoth,
    completions: completions(
      ['tokens'],
      'echo is refused, n too by older versions; several prompts are answered by a list of answers',
    ),
    jsonSchema: native('response_format becomes a grammar'),
    forcedTool: {
      value: 'filter',
      reason: 'an object as tool_choice is read as "auto" (llama.cpp #26535); "required" works',
    },
    prefixCache: {
      value: 'slot',
      reason: 'each slot keeps its own prompt; the cache in RAM behind them may be switched off',
    },
    fields: fields(
      `top_k min_p typical_p top_n_sigma xtc_probability xtc_threshold dynatemp_range dynatemp_exponent repeat_penalty
      repeat_last_n dry_multiplier dry_base dry_allowed_length dry_penalty_last_n dry_sequence_breakers mirostat
      mirostat_tau mirostat_eta chat_template_kwargs thinking_budget_tokens`,
      'documented as sampling; the budget is read where the server itself has none',
    ),
    without: nothing,
    names: {
      value: { ...maxTokens, repetition_penalty: 'repeat_penalty' },
      reason: 'max_tokens is the one name that all versions read',
    },
    developerRole: no(byTemplate),
    effort: { value: 'template', reason: 'reasoning_effort itself is not read by every version' },
    counter: {
      value: ['input_tokens', 'template'],
      reason: 'the first came in 2026, the others are older',
    },
    report: {
      value: 'props',
      reason:
        'tells total_slots, the context of one and the modalities; /v1/models answers while it loads, too',
    },
    progress: {
      value: 'return_progress',
      reason: 'an event a batch of the prompt, 2,048 tokens; older versions pass it over',
    },
    asStream: {
      value: true,
      reason: 'cheap for the few requests it takes; a plain one that was left keeps its slot for seconds',
    },
    inputs: { value: ['image', 'audio'], reason: 'with a projector; a part of another type is refused' },
  },
  ollama: {
    auth: bearer,
    speaks: newerHaveBoth,
    completions: completions(['suffix'], 'its prompt is one text; echo and n are not read'),
    jsonSchema: native('format since 0.5; not enforced by every model (ollama #14645)'),
    forcedTool: { value: 'none', reason: 'tool_choice is not read at all (ollama #17921)' },
    prefixCache: { value: 'slot', reason: 'runs llama.cpp, whose slots keep a prompt each' },
    fields: { value: [], reason: 'its chat completions know no other; the rest is set in the Modelfile' },
    without: nothing,
    names: { value: maxTokens, reason: 'the newer name is not read' },
    developerRole: no(byTemplate),
    effort: {
      value: { minimal: 'low', xhigh: 'max' },
      reason: 'only none, low, medium, high and max are taken by every model',
    },
    counter: { value: [], reason: 'it has none (ollama #4186)' },
    report: {
      value: 'show',
      reason:
        'capabilities and context of the model; one that is not there is found before a request finds it',
    },
    cutsPrompts: { value: true, reason: 'the oldest messages go first, then the middle of what is left' },
    inputs: { value: ['image'], reason: 'images alone are documented' },
  },
  openai,
  azure: {
    ...openai,
    speaks: { responses: viaChat('it has them at one of its addresses, not below that of a deployment') },
    auth: {
      value: { header: 'api-key', scheme: '' },
      reason: 'documented; the bearer is for tokens of Entra ID',
    },
    fields: { value: [], reason: 'what it takes depends on the version of the API, and it refuses the rest' },
  },
  openrouter: {
    auth: bearer,
    completions: completions([], 'one text is documented'),
    jsonSchema: native('documented, by models that have it'),
    forcedTool: native('documented, by models that have it'),
    prefixCache: shared('that of whoever runs the model'),
    fields: fields('top_k min_p top_a repetition_penalty verbosity', 'documented as sampling'),
    without: nothing,
    names: { value: { ...maxTokens, repeat_penalty: 'repetition_penalty' }, reason: 'documented' },
    developerRole: no('whether it is known depends on the model'),
    effort: { value: 'as given', reason: 'it translates for whoever runs the model' },
    counter: hosted,
    report: byModels,
    asStream: { value: true, reason: 'comments come while whoever runs the model is silent' },
    inputs: { value: ['image', 'audio', 'file'], reason: 'documented, by models that have it' },
  },
  gemini: {
    auth: bearer,
    jsonSchema: native('documented'),
    forcedTool: native('documented'),
    prefixCache: shared('documented as implicit caching'),
    fields: { value: [], reason: 'any that is not known is refused (page-assist #418)' },
    without: {
      value: ['seed', 'frequency_penalty'],
      reason: 'refused as unknown names (page-assist #418, ChatterUI #227)',
    },
    names: { value: maxTokens, reason: 'documented' },
    developerRole: no('system is documented'),
    signsCalls: {
      value: 'needed',
      reason: 'documented: a call without the signature that came in its extra_content is a 400',
    },
    effort: {
      value: { xhigh: 'high', max: 'high' },
      reason: 'minimal, low, medium and high are documented, none by models that can go without',
    },
    counter: hosted,
    report: byModels,
    inputs: { value: ['image', 'audio'], reason: 'documented' },
  },
  mistral: {
    auth: bearer,
    jsonSchema: native('documented'),
    forcedTool: native('documented'),
    prefixCache: shared('nothing is documented; leader first serves most'),
    fields: fields(
      'prediction',
      'documented; any that is not known is refused (mistralai/platform-docs-public #7)',
    ),
    without: {
      value: [
        'stream_options',
        'logprobs',
        'top_logprobs',
        'logit_bias',
        'reasoning_effort',
        'messages.name',
        'messages.refusal',
        'messages.reasoning',
        'messages.reasoning_content',
      ],
      reason:
        'not in its schema, which forbids others (crush #1590, mistral-go #2); usage comes without being asked for',
    },
    names: { value: { ...maxTokens, seed: 'random_seed' }, reason: 'documented' },
    developerRole: no('system is documented'),
    effort: { value: 'as given', reason: 'it is not sent' },
    counter: hosted,
    report: byModels,
    asStream: { value: true, reason: 'thoughts come as they are thought' },
    inputs: { value: ['image'], reason: 'documented' },
  },
  deepseek: {
    auth: bearer,
    jsonSchema: { value: 'none', reason: 'json_object alone is documented' },
    forcedTool: native('documented'),
    prefixCache: shared('documented: told in prompt_cache_hit_tokens'),
    fields: { value: [], reason: 'no others are documented for sampling' },
    without: nothing,
    names: { value: maxTokens, reason: 'documented' },
    developerRole: no('system is documented'),
    effort: { value: 'as given', reason: 'documented; which words a model takes is its own' },
    counter: hosted,
    report: byModels,
    asStream: {
      value: true,
      reason: 'comments come while a request waits, and thoughts as they are thought',
    },
    inputs: { value: [], reason: 'text alone is documented' },
  },
  xai: {
    auth: bearer,
    jsonSchema: native('documented'),
    forcedTool: native('documented'),
    prefixCache: shared('documented'),
    fields: { value: [], reason: 'no others are documented for sampling' },
    without: nothing,
    names: { value: {}, reason: 'both names of the limit are documented' },
    developerRole: no('system is documented'),
    effort: {
      value: { minimal: 'low', xhigh: 'high', max: 'high' },
      reason: 'low, medium and high are documented, none by models that can go without',
    },
    counter: hosted,
    report: byModels,
    inputs: { value: ['image'], reason: 'documented' },
  },
  anthropic: {
    auth: {
      value: { header: 'x-api-key', scheme: '', beside: { 'anthropic-version': '2023-06-01' } },
      reason: 'documented; by this version the fields for sampling are still read',
    },
    format: { value: 'messages', reason: 'its chat completions ignore formats and strict tools' },
    speaks: { messages: native('signed thinking, marks for its cache and citations are lost otherwise') },
    jsonSchema: native('documented as output_config.format; models that do not have it refuse it'),
    forcedTool: native('documented'),
    prefixCache: shared('leader first serves most'),
    fields: fields('top_k thinking_budget_tokens', 'documented for some models'),
    without: nothing,
    names: { value: {}, reason: 'all members are translated' },
    developerRole: no('what the system says stands before the conversation'),
    effort: {
      value: 'as given',
      reason: 'translated by the generation of the model (`messages/thinking.ts`)',
    },
    counter: { value: ['count_tokens'], reason: 'documented' },
    report: byModels,
    inputs: { value: ['image', 'file'], reason: 'documented' },
  },
  offpeak: {
    auth: bearer,
    speaks: {
      messages: native('passes on what its own engine takes'),
      responses: native('passes on what its own engine takes'),
    },
    completions: completions(all, 'refuses by itself what its engine cannot'),
    jsonSchema: { value: 'exact', reason: 'conformed to or an error, whatever the engine behind it' },
    forcedTool: { value: 'exact', reason: 'forced or an error, whatever the engine behind it' },
    prefixCache: shared('what stands behind it is not known; leader first serves most'),
    fields: fields(
      `top_k min_p repeat_penalty repetition_penalty thinking_budget_tokens chat_template_kwargs prediction
      prompt_cache_key prompt_cache_retention verbosity`,
      'sorts them out itself',
    ),
    without: nothing,
    names: { value: {}, reason: 'takes all of them' },
    developerRole: { value: true, reason: 'maps it where needed' },
    signsCalls: { value: 'passed on', reason: 'what stands behind it may' },
    effort: { value: 'as given', reason: 'translates it for the engine behind it' },
    counter: { value: ['input_tokens'], reason: 'our own' },
    report: byModels,
    inputs: { value: ['image', 'audio', 'file'], reason: 'refuses by itself what its model does not take' },
  },
  generic: {
    auth: bearer,
    completions: completions(all, 'nothing is known of the server'),
    jsonSchema: native('asked for and checked: nothing is known of the server'),
    forcedTool: native('asked for and checked: nothing is known of the server'),
    prefixCache: shared('nothing is known of the server; leader first serves most'),
    fields: fields(
      'top_k min_p repeat_penalty repetition_penalty chat_template_kwargs',
      'what most servers of open models take',
    ),
    without: nothing,
    names: { value: maxTokens, reason: 'the older name is the one that everybody reads' },
    developerRole: no('system is understood everywhere'),
    effort: { value: 'as given', reason: 'the one name that is documented anywhere' },
    counter: { value: [], reason: 'nothing is known of the server' },
    report: byModels,
    inputs: { value: ['image', 'audio', 'file'], reason: 'nothing is known of the server' },
  },
};

/** What a server does by itself, with what the configuration says of it. */
export function traitsOf(flavor: Flavor | 'auto', own: OwnTraits | undefined): FlavorTraits {
  const like = flavorTraits[flavor === 'auto' ? 'generic' : flavor];
  if (!own) return like;
  const reason = 'configured';
  const { paths, auth, names, without, usage, finish } = own;
  return {
    ...like,
    ...(auth && { auth: { value: auth, reason } }),
    paths: { value: paths, reason },
    fields: { value: [...like.fields.value, ...own.fields], reason },
    names: { value: { ...like.names.value, ...names }, reason },
    without: { value: [...like.without.value, ...without], reason },
    ...(Object.keys(usage).length > 0 && { usage: { value: usage, reason } }),
    finish: { value: finish, reason },
  };
}
