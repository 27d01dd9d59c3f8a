import { instanceOf } from './scripted/instance.ts';
import type { ChatRequest, JsonSchema } from '../../src/wire/chat/chat.ts';
import { completion, frame, send, startFakeUpstream, streamed } from './fake-upstream.ts';
import type { FakeUpstream } from './fake-upstream.ts';

/** What a server says to a request. */
interface Reply {
  content?: string;
  calls?: [name: string, args: string][];
  finish?: string;
  /** It takes no such request at all. */
  refuses?: string;
}

type Replier = (request: ChatRequest) => Reply;

/** Servers as they are known to behave (wire-formats.md, sections 0.8 and 2.2), by the name of the model they serve. */
export const quirkyServers = {
  /** Reads no tool_choice: calls when it likes, with text before it, and says `stop`. Holds formats. */
  ollama: (request) => {
    const schema = schemaOf(request);
    if (schema !== undefined) return { content: instanceText(schema) };
    const [tool] = request.tools ?? [];
    if (!tool) return prose;
    const args = instanceText(tool.function.parameters ?? {});
    return { content: 'Let me see.', calls: [[tool.function.name, args]], finish: 'stop' };
  },
  /** Takes a named choice for "auto"; does what "required" says. */
  'llama-server': (request) => {
    const schema = schemaOf(request);
    if (schema !== undefined) return { content: instanceText(schema) };
    if (request.tool_choice !== 'required') return prose;
    return callOf(request, request.tools?.[0]?.function.name);
  },
  /** Started without a parser for calls. */
  'no-parser': (request) => {
    if (request.tools) return { refuses: '"auto" tool choice requires --enable-auto-tool-choice' };
    const schema = schemaOf(request);
    return schema === undefined ? prose : { content: instanceText(schema) };
  },
  /** Calls what it is told to, and stops in the middle of the arguments. */
  careless: (request) => {
    const schema = schemaOf(request);
    if (schema !== undefined) return { content: instanceText(schema) };
    const name = typeof request.tool_choice === 'object' ? request.tool_choice?.function.name : undefined;
    return request.tools
      ? { calls: [[name ?? request.tools[0]!.function.name, '{"city":']], finish: 'tool_calls' }
      : prose;
  },
  /** Knows neither tools nor formats, but reads what the system says, and answers in code blocks. */
  simple: ({ messages }) => {
    const { role, content } = messages[0]!;
    const [line = '', data = ''] =
      role === 'system' && typeof content === 'string' ? content.split('\n') : [];
    if (!data.startsWith('{')) return prose;
    const told = JSON.parse(data) as { name?: string; parameters?: JsonSchema } & Record<string, unknown>;
    const args = told.parameters ? instanceOf(told.parameters) : instanceOf(told);
    const value = line.includes('one of these') ? { name: told.name, arguments: args } : args;
    return { content: `\`\`\`json\n${JSON.stringify(value)}\n\`\`\`` };
  },
  /** Does nothing it is told. */
  stubborn: () => prose,
} satisfies Record<string, Replier>;

export type QuirkyServerName = keyof typeof quirkyServers;

/** Counted alike, streamed or not. */
const usage = `data: ${JSON.stringify({ ...completion(), object: 'chat.completion.chunk', choices: [] })}\n\n`;

const prose: Reply = { content: 'It is sunny.' };

/** One server for all of them; `asked` has the requests for an answer. */
export interface QuirkyServers extends FakeUpstream {
  requests: ChatRequest[];
}

export async function startQuirkyServers(): Promise<QuirkyServers> {
  const requests: ChatRequest[] = [];
  const upstream = await startFakeUpstream((response, { path, text }) => {
    if (!path.endsWith('/chat/completions'))
      return send(response, 404, { error: { message: 'no such route' } });
    const request = JSON.parse(text) as ChatRequest;
    requests.push(request);
    const said = cut(quirkyServers[request.model as QuirkyServerName](request), request);
    if (said.refuses) return send(response, 400, { error: { message: said.refuses, code: 400 } });
    const { content = null, calls = [], finish = 'stop' } = said;
    const toolCalls = calls.map(([name, args], index) => ({
      index,
      type: 'function',
      function: { name, arguments: args },
    }));
    const message = { role: 'assistant', content, ...(calls.length > 0 && { tool_calls: toolCalls }) };
    if (!request.stream)
      return send(response, 200, completion('', { choices: [{ index: 0, message, finish_reason: finish }] }));
    return streamed([frame(message), frame({}, finish), usage, 'data: [DONE]\n\n'])(response, {} as never);
  });
  return Object.assign(upstream, { requests });
}

/** A token is a character here. */
function cut(said: Reply, { max_tokens: most }: ChatRequest): Reply {
  const { content } = said;
  if (!content || !most || content.length <= most || said.calls) return said;
  return { content: content.slice(0, most), finish: 'length' };
}

function schemaOf({ response_format: format }: ChatRequest): JsonSchema | undefined {
  if (format?.type === 'json_schema') return format.json_schema.schema;
  return format?.type === 'json_object' ? { type: 'object' } : undefined;
}

function callOf({ tools }: ChatRequest, name: string | undefined): Reply {
  const tool = tools?.find((each) => each.function.name === name)?.function;
  if (!tool) return prose;
  return { calls: [[tool.name, instanceText(tool.parameters ?? {})]], finish: 'tool_calls' };
}

function instanceText(schema: JsonSchema): string {
  return JSON.stringify(instanceOf(schema));
}
