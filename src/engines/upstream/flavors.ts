import type { Flavor } from '../../core/flavor.ts';
import type { ModelInput } from '../../core/model.ts';
import type { Capabilities } from '../engines.ts';
import type { CountWay } from './count-tokens.ts';
import type { EffortWay } from './reasoning-effort.ts';

/** A difference between servers, and why it is believed. */
interface Flag<T> {
  value: T;
  reason: string;
}

export interface FlavorTraits {
  jsonSchema: Flag<Capabilities['jsonSchema']>;
  forcedTool: Flag<Capabilities['forcedTool']>;
  prefixCache: Flag<Capabilities['prefixCache']>;
  /** Which field carries the token limit. */
  tokenLimit: Flag<'max_tokens' | 'as given'>;
  /** Whether the role `developer` may be sent; it becomes `system` otherwise. */
  developerRole: Flag<boolean>;
  /** How it is told how hard to think. */
  effort: Flag<EffortWay>;
  /** Whether it can be told how long to think at most, in `thinking_budget_tokens`. */
  thinkingBudget: Flag<boolean>;
  /** Whether it is sent fields that only the first of these services has, such as `service_tier`. */
  hostedFields: Flag<boolean>;
  /** How it counts the tokens of a prompt, in the order in which the ways are tried. */
  counter: Flag<readonly CountWay[]>;
  /** What it may take beside text; whether the model does is known to whoever configures it. */
  inputs: Flag<readonly ModelInput[]>;
}

const native = (reason: string) => ({ value: 'native' as const, reason });
const shared = (reason: string) => ({ value: 'shared' as const, reason });
const maxTokens = (reason: string) => ({ value: 'max_tokens' as const, reason });
const no = (reason: string) => ({ value: false, reason });
const meaningless = 'they mean nothing to it';
const byTemplate = 'the chat template decides which roles exist, and most templates do not know this one';

/** What servers of each kind do by themselves (wire-formats.md, sections 0.8, 2.3 and 2.4). */
export const flavorTraits: Record<Flavor, FlavorTraits> = {
  vllm: {
    jsonSchema: native('guided decoding, but skipped together with some reasoning parsers (vllm #52594)'),
    forcedTool: native('a named tool becomes guided decoding of its parameters'),
    prefixCache: shared('blocks of the cache are found by their content (automatic prefix caching)'),
    tokenLimit: maxTokens('every version knows it; old ones know no other'),
    developerRole: no(byTemplate),
    effort: {
      value: 'switch',
      reason: 'every word is taken today, and given to the template; versions before that refuse none',
    },
    thinkingBudget: no('it has one by another name, and refuses it unless started for it'),
    hostedFields: no(meaningless),
    counter: { value: ['messages'], reason: '/tokenize renders messages as chat completions do' },
    inputs: { value: ['image', 'audio'], reason: 'a part of another type is refused' },
  },
  sglang: {
    jsonSchema: native('grammar backend behind response_format'),
    forcedTool: native('a named tool becomes a grammar of its parameters'),
    prefixCache: shared('one radix tree for all requests'),
    tokenLimit: maxTokens('every version knows it'),
    developerRole: no(byTemplate),
    effort: {
      value: 'switch',
      reason:
        'every word is taken today; none switches the template, in older versions only by its variables',
    },
    thinkingBudget: no('not a field of requests'),
    hostedFields: no(meaningless),
    counter: { value: ['text'], reason: '/tokenize does not know messages' },
    inputs: { value: ['image', 'audio'], reason: 'there is no part for files' },
  },
  'llama-server': {
    jsonSchema: native('response_format becomes a grammar'),
    forcedTool: {
      value: 'filter',
      reason: 'an object as tool_choice is read as "auto" (llama.cpp #26535); "required" works',
    },
    prefixCache: {
      value: 'slot',
      reason: 'each slot keeps its own prompt; the cache in RAM behind them may be switched off',
    },
    tokenLimit: maxTokens('the one name that all versions read'),
    developerRole: no(byTemplate),
    effort: { value: 'template', reason: 'reasoning_effort itself is not read by every version' },
    thinkingBudget: { value: true, reason: 'read where the server itself has no budget' },
    hostedFields: no(meaningless),
    counter: {
      value: ['input_tokens', 'template'],
      reason: 'the first came in 2026, the others are older',
    },
    inputs: { value: ['image', 'audio'], reason: 'with a projector; a part of another type is refused' },
  },
  ollama: {
    jsonSchema: native('format since 0.5; not enforced by every model (ollama #14645)'),
    forcedTool: { value: 'none', reason: 'tool_choice is not read at all (ollama #17921)' },
    prefixCache: { value: 'slot', reason: 'runs llama.cpp, whose slots keep a prompt each' },
    tokenLimit: maxTokens('the newer name is not read'),
    developerRole: no(byTemplate),
    effort: { value: 'levels', reason: 'only none, low, medium, high and max are taken by every model' },
    thinkingBudget: no('not a field of requests'),
    hostedFields: no(meaningless),
    counter: { value: [], reason: 'it has none (ollama #4186)' },
    inputs: { value: ['image'], reason: 'images alone are documented' },
  },
  openai: {
    jsonSchema: native('strict structured output'),
    forcedTool: native('documented'),
    prefixCache: shared('documented: prompts of 1,024 tokens and more'),
    tokenLimit: { value: 'as given', reason: 'reasoning models refuse max_tokens, older ones take both' },
    developerRole: { value: true, reason: 'documented' },
    effort: { value: 'as given', reason: 'documented; which words a model takes is its own' },
    thinkingBudget: no('fields that are not known are refused'),
    hostedFields: { value: true, reason: 'documented' },
    counter: { value: [], reason: 'it counts requests of another format only' },
    inputs: { value: ['image', 'audio', 'file'], reason: 'documented' },
  },
  offpeak: {
    jsonSchema: { value: 'exact', reason: 'conformed to or an error, whatever the engine behind it' },
    forcedTool: { value: 'exact', reason: 'forced or an error, whatever the engine behind it' },
    prefixCache: shared('what stands behind it is not known; leader first serves most'),
    tokenLimit: { value: 'as given', reason: 'takes both names' },
    developerRole: { value: true, reason: 'maps it where needed' },
    effort: { value: 'as given', reason: 'translates it for the engine behind it' },
    thinkingBudget: { value: true, reason: 'keeps it from engines that do not know it' },
    hostedFields: { value: true, reason: 'sorts them out itself' },
    counter: { value: ['input_tokens'], reason: 'our own' },
    inputs: { value: ['image', 'audio', 'file'], reason: 'refuses by itself what its model does not take' },
  },
  generic: {
    jsonSchema: native('asked for and checked: nothing is known of the server'),
    forcedTool: native('asked for and checked: nothing is known of the server'),
    prefixCache: shared('nothing is known of the server; leader first serves most'),
    tokenLimit: maxTokens('the older name is the one that everybody reads'),
    developerRole: no('system is understood everywhere'),
    effort: { value: 'as given', reason: 'the one name that is documented anywhere' },
    thinkingBudget: no('some servers refuse fields that they do not know'),
    hostedFields: no('some servers refuse fields that they do not know'),
    counter: { value: [], reason: 'nothing is known of the server' },
    inputs: { value: ['image', 'audio', 'file'], reason: 'nothing is known of the server' },
  },
};
