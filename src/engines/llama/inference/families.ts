/** Syntax of a family of models for everything but plain text. A family is detected by markers in its chat template. */
export interface Family {
  /** Null for models without call markers of their own. */
  readonly name: string | null;
  readonly calls: CallFormat;
  /** Markers around the reasoning, or null for models without. */
  readonly thinking: Thinking | null;
  /** Answers come in channels, each with a header. */
  readonly hasChannels: boolean;
  /** IDs of calls must have nine letters and digits. */
  readonly hasShortCallIds: boolean;
}

export interface Thinking {
  readonly start: string;
  readonly end: string;
}

export interface CallFormat {
  readonly start: string;
  readonly end: string;
  /** Text inside: an `object` `{"name": ..., "arguments": ...}`, a `list` of them, or `named`: name, `infix`, arguments. */
  readonly shape: 'object' | 'list' | 'named';
  readonly infix: string;
  readonly argumentsKey: 'arguments' | 'parameters';
  /** An answer may have several calls. */
  readonly isRepeatable: boolean;
  /** A call without markers may also be the whole answer. */
  readonly isBareToo: boolean;
}

/** Calls of the Hermes and Qwen families, also used for models without a syntax of their own. */
export const markedCalls: CallFormat = {
  start: '<tool_call>',
  end: '</tool_call>',
  shape: 'object',
  infix: '',
  argumentsKey: 'arguments',
  isRepeatable: true,
  isBareToo: false,
};

const mistralList: CallFormat = { ...markedCalls, start: '[TOOL_CALLS]', end: '', shape: 'list' };
const mistralNamed: CallFormat = { ...mistralList, shape: 'named', infix: '[ARGS]' };
const phiList: CallFormat = { ...markedCalls, start: '<|tool_call|>', end: '<|/tool_call|>', shape: 'list' };
const bareObject: CallFormat = {
  ...markedCalls,
  start: '',
  end: '',
  argumentsKey: 'parameters',
  isRepeatable: false,
  isBareToo: true,
};
const channelCalls: CallFormat = {
  ...markedCalls,
  start: '<|channel|>commentary to=functions.',
  end: '',
  shape: 'named',
  infix: ' <|constrain|>json<|message|>',
  isRepeatable: false,
};

type Row = Partial<Family> & Pick<Family, 'name' | 'calls'>;

/** Families by markers that their templates have, the more specific ones first. */
const rows: readonly (Row & { markers: readonly string[] })[] = [
  { name: 'gpt-oss', markers: ['<|channel|>', '<|start|>'], calls: channelCalls, hasChannels: true },
  { name: 'Mistral', markers: ['[TOOL_CALLS]', '[ARGS]'], calls: mistralNamed, hasShortCallIds: true },
  { name: 'Mistral', markers: ['[TOOL_CALLS]'], calls: mistralList, hasShortCallIds: true },
  { name: 'Phi', markers: ['<|tool_call|>'], calls: phiList },
  { name: 'Phi', markers: ['<|tool|>'], calls: phiList },
  { name: 'Qwen, Hermes', markers: ['<tool_call>'], calls: markedCalls },
  { name: 'Llama 3', markers: ['<|start_header_id|>', 'tools'], calls: bareObject },
];

const thinkingMarkers: readonly Thinking[] = [
  { start: '<think>', end: '</think>' },
  { start: '[THINK]', end: '[/THINK]' },
];

/** Family of the model with this chat template, if it has one. */
export function detectFamily(template: string | undefined): Family {
  const text = template ?? '';
  const thinking = thinkingMarkers.find(({ end }) => text.includes(end)) ?? null;
  const plain: Row = { name: null, calls: { ...markedCalls, isBareToo: /\btools\b/.test(text) } };
  const row = rows.find(({ markers }) => markers.every((marker) => text.includes(marker))) ?? plain;
  return { thinking, hasChannels: false, hasShortCallIds: false, ...row };
}

/** Texts that reading an answer of the family needs, also where they are control tokens. */
export function familyMarkers({ calls, thinking, hasChannels }: Family): string[] {
  const channels = ['<|start|>', '<|channel|>', '<|constrain|>', '<|message|>', '<|end|>'];
  return [
    ...(hasChannels ? channels : [calls.start, calls.end, calls.infix]),
    ...(thinking ? [thinking.start, thinking.end] : []),
  ].filter((marker) => marker !== '');
}
