/** Request as it is written on the screen: texts, which may have faults. */
export interface Draft {
  system: string;
  turns: readonly Turn[];
  tools: string;
  schema: string;
  temperature: string;
  maxTokens: string;
  stream: boolean;
}

export interface Turn {
  /** Stable while the turn exists. */
  id: number;
  role: 'user' | 'assistant';
  text: string;
}

export const emptyDraft: Draft = {
  system: '',
  turns: [{ id: 0, role: 'user', text: '' }],
  tools: '',
  schema: '',
  temperature: '',
  maxTokens: '1024',
  stream: true,
};

export interface Tool {
  name: string;
  description?: string;
  /** JSON Schema of the arguments. */
  parameters: object;
}

/** Request without the form of any format. */
export interface Prompt {
  system: string | undefined;
  messages: { role: 'user' | 'assistant'; content: string }[];
  tools: Tool[];
  schema: object | undefined;
  temperature: number | undefined;
  maxTokens: number;
  stream: boolean;
}

export type Field = 'turns' | 'tools' | 'schema' | 'temperature' | 'maxTokens';
export type Faults = Partial<Record<Field, string>>;

/** Reads a draft: the prompt, or the faults by field. The server checks everything else. */
export function readDraft(draft: Draft): { prompt: Prompt } | { faults: Faults } {
  const messages = draft.turns
    .filter(({ text }) => text.trim() !== '')
    .map(({ role, text }) => ({ role, content: text }));
  const faults: Faults = {};
  if (messages.at(-1)?.role !== 'user') faults.turns = 'Write a message: the last one must be of the user.';
  const tools = draft.tools.trim() === '' ? [] : (readTools(draft.tools) ?? []);
  if (draft.tools.trim() !== '' && tools.length === 0)
    faults.tools = 'Expected a JSON array of functions, each with a name and parameters.';
  const schema = draft.schema.trim() === '' ? undefined : parseObject(draft.schema);
  if (draft.schema.trim() !== '' && !schema) faults.schema = 'Expected a JSON Schema: a JSON object.';
  const temperature = draft.temperature.trim() === '' ? undefined : Number(draft.temperature);
  if (Number.isNaN(temperature)) faults.temperature = 'Expected a number.';
  const maxTokens = Number(draft.maxTokens);
  if (!Number.isSafeInteger(maxTokens) || maxTokens < 1)
    faults.maxTokens = 'Expected a whole number above 0.';
  if (Object.keys(faults).length > 0) return { faults };
  const system = draft.system.trim() === '' ? undefined : draft.system;
  return { prompt: { system, messages, tools, schema, temperature, maxTokens, stream: draft.stream } };
}

/** Reads tools in the form of any of the formats. */
function readTools(text: string): Tool[] | undefined {
  const list = parseJson(text);
  if (!Array.isArray(list)) return undefined;
  const tools = list.map(readTool);
  return tools.every((tool) => tool !== undefined) ? tools : undefined;
}

function readTool(given: unknown): Tool | undefined {
  const outer = Object(given) as Record<string, unknown>;
  const tool = typeof outer['function'] === 'object' ? (Object(outer['function']) as typeof outer) : outer;
  const { name, description } = tool;
  const parameters = tool['parameters'] ?? tool['input_schema'] ?? { type: 'object', properties: {} };
  if (typeof name !== 'string' || name === '' || !isObject(parameters)) return undefined;
  return { name, parameters, ...(typeof description === 'string' && { description }) };
}

function parseObject(text: string): object | undefined {
  const value = parseJson(text);
  return isObject(value) ? value : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
