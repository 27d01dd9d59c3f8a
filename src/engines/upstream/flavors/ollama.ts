import { native, no, newerHaveBoth, completions, maxTokens, byTemplate, usual } from './shorthand.ts';
import type { FlavorTraits } from './traits.ts';

export const ollama: FlavorTraits = {
  ...usual,
  speaks: newerHaveBoth,
  completions: completions(
    ['suffix'],
    'a text goes through the chat template unless there is a suffix; echo and n are not read',
  ),
  jsonSchema: native('format since 0.5; not enforced by every model (ollama #14645)'),
  forcedTool: { value: 'none', reason: 'tool_choice is not read at all (ollama #17921)' },
  prefixCache: { value: 'slot', reason: 'runs llama.cpp, whose slots keep a prompt each' },
  fields: { value: [], reason: 'its chat completions know no other; the rest is set in the Modelfile' },
  names: { value: maxTokens, reason: 'the newer name is not read' },
  developerRole: no(byTemplate),
  effort: {
    value: { minimal: 'low', xhigh: 'max' },
    reason: 'only none, low, medium, high and max are taken by every model',
  },
  counter: { value: [], reason: 'it has none (ollama #4186)' },
  report: {
    value: 'show',
    reason: 'capabilities and context of the model; one that is not there is found before a request finds it',
  },
  life: { value: 'door', reason: 'it listens while it works; a small chat would wait behind long ones' },
  cutsPrompts: { value: true, reason: 'the oldest messages go first, then the middle of what is left' },
  inputs: { value: ['image'], reason: 'images alone are documented' },
};
