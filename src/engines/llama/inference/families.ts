/**
 * How the families of models write what is not plain text. A family is known by marks in its chat template; a new one
 * is a row here.
 */
export interface Family {
  /** Null for models whose calls have no marks of their own. */
  readonly name: string | null;
  readonly calls: CallFormat;
  /** The marks around what the model thinks before it answers, or null when it does not. */
  readonly thinking: Thinking | null;
  /** Whether answers come in channels, each with a header of its own. */
  readonly hasChannels: boolean;
  /** Whether ids of calls must have nine letters and digits. */
  readonly hasShortCallIds: boolean;
}

export interface Thinking {
  readonly start: string;
  readonly end: string;
}

export interface CallFormat {
  readonly start: string;
  readonly end: string;
  /**
   * Between the marks stands `object`: `{"name": ..., "arguments": ...}`, `list`: such objects in an array, or `named`:
   * the name, then `infix`, then the arguments.
   */
  readonly shape: 'object' | 'list' | 'named';
  readonly infix: string;
  readonly argumentsKey: 'arguments' | 'parameters';
  /** Whether one answer may hold several calls. */
  readonly isRepeatable: boolean;
  /** Whether models of the family also give a call as their whole answer, without marks. */
  readonly isBareToo: boolean;
}

/** The marks models of the Hermes and Qwen families are trained on, and ours, for models that know no other. */
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

/** By marks that all stand in the template; the more particular ones first. */
const rows: readonly (Row & { marks: readonly string[] })[] = [
  { name: 'gpt-oss', marks: ['<|channel|>', '<|start|>'], calls: channelCalls, hasChannels: true },
  { name: 'Mistral', marks: ['[TOOL_CALLS]', '[ARGS]'], calls: mistralNamed, hasShortCallIds: true },
  { name: 'Mistral', marks: ['[TOOL_CALLS]'], calls: mistralList, hasShortCallIds: true },
  { name: 'Phi', marks: ['<|tool_call|>'], calls: phiList },
  { name: 'Phi', marks: ['<|tool|>'], calls: phiList },
  { name: 'Qwen, Hermes', marks: ['<tool_call>'], calls: markedCalls },
  { name: 'Llama 3', marks: ['<|start_header_id|>', 'tools'], calls: bareObject },
];

const thinkingMarks: readonly Thinking[] = [
  { start: '<think>', end: '</think>' },
  { start: '[THINK]', end: '[/THINK]' },
];

/** The family of the model with this chat template; undefined is a model without one. */
export function detectFamily(template: string | undefined): Family {
  const text = template ?? '';
  const thinking = thinkingMarks.find(({ end }) => text.includes(end)) ?? null;
  const plain: Row = { name: null, calls: { ...markedCalls, isBareToo: /\btools\b/.test(text) } };
  const row = rows.find(({ marks }) => marks.every((mark) => text.includes(mark))) ?? plain;
  return { thinking, hasChannels: false, hasShortCallIds: false, ...row };
}

/** Texts by which an answer of the family is read. Where they are control tokens, they must not be dropped. */
export function familyMarkers({ calls, thinking, hasChannels }: Family): string[] {
  const channels = ['<|start|>', '<|channel|>', '<|constrain|>', '<|message|>', '<|end|>'];
  return [
    ...(hasChannels ? channels : [calls.start, calls.end, calls.infix]),
    ...(thinking ? [thinking.start, thinking.end] : []),
  ].filter((mark) => mark !== '');
}
