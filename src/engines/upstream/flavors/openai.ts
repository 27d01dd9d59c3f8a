import { native, shared, fields, completions, all, usual, answersChat } from './shorthand.ts';
import type { FlavorTraits } from './traits.ts';

export const openai: FlavorTraits = {
  ...usual,
  life: answersChat,
  speaks: {
    responses: native('encrypted reasoning, custom tools and the phases of an answer are lost otherwise'),
  },
  customTools: {
    value: /^gpt-(?:[5-9]|\d\d)/,
    reason: 'documented from GPT-5 on, with grammars of lark and regex; older models refuse them',
  },
  completions: completions(all, 'documented, for models that have them; the others say so'),
  jsonSchema: native('strict structured output'),
  forcedTool: native('documented'),
  prefixCache: shared('documented: prompts of 1,024 tokens and more'),
  fields: fields(
    'prediction prompt_cache_key prompt_cache_retention verbosity',
    'documented; any that is not known is refused, and others (service_tier, web_search_options) cost extra',
  ),
  names: { value: {}, reason: 'reasoning models refuse max_tokens, older ones take both' },
  developerRole: { value: true, reason: 'documented' },
  effort: { value: 'as given', reason: 'documented; which words a model takes is its own' },
  counter: { value: [], reason: 'it counts requests of another format only' },
  failures: {
    value: [
      { code: 'insufficient_quota', means: 402 },
      { code: 'billing_hard_limit_reached', means: 402 },
    ],
    reason:
      'documented: the account is out of credit (429), or at the limit it set itself (400). Others call a rate so',
  },
  inputs: { value: ['image', 'audio', 'file'], reason: 'documented' },
};
