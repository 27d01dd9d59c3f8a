import { instanceOf } from '../../support/scripted/instance.ts';
import type { JsonSchema } from '../../../src/wire/chat/chat.ts';
import type { Responder } from '../../support/fake-upstream.ts';
import { frame, send, startFakeUpstream, streamed, usageFrame } from '../../support/fake-upstream.ts';
import type { FakeUpstream } from '../../support/fake-upstream.ts';

interface ModelRequest {
  model: string;
  messages: { role: string; content: unknown }[];
  tools?: { function: { name: string; parameters?: JsonSchema } }[];
  stream?: boolean;
}

/**
 * Starts an upstream with the tool use of a good model: it calls the first tool about Rome, or a shell tool, and answers with
 * the result. As `thinker`, it reasons first. An answer thus shows that a tool round trip worked. Streamed tool call deltas
 * have no role, as with some servers. Without tools, it repeats the conversation.
 */
export function startWeatherModel(): Promise<FakeUpstream> {
  return startFakeUpstream(weatherModel);
}

const weatherModel: Responder = (response, { text }) => {
  const { model, messages, tools, stream } = JSON.parse(text) as ModelRequest;
  const last = messages.at(-1);
  const called = last?.role === 'tool' ? undefined : callOf(tools ?? []);
  if (last?.content === 'for ever') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frame({ role: 'assistant', content: 'and' }));
    return;
  }
  const said =
    last?.role === 'tool'
      ? `The tool said: ${textOf(last.content)}`
      : messages.map(({ content }) => textOf(content)).join(' | ');
  const call = { id: 'call_1', type: 'function' };
  const calls = [{ ...call, function: called }];
  const finish = called ? 'tool_calls' : 'stop';
  const thought = model === 'thinker' && { reasoning_content: 'Let me see.' };
  if (!stream) {
    const message = {
      role: 'assistant',
      content: called ? null : said,
      ...thought,
      ...(called && { tool_calls: calls }),
    };
    send(response, 200, {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1_790_000_000,
      model: 'weather',
      choices: [{ index: 0, message, finish_reason: finish }],
      usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
    });
    return;
  }
  const pieces = called
    ? [
        frame({ tool_calls: [{ index: 0, ...call, function: { ...called, arguments: '' } }] }),
        frame({ tool_calls: [{ index: 0, function: { arguments: called.arguments.slice(0, 8) } }] }),
        frame({ tool_calls: [{ index: 0, function: { arguments: called.arguments.slice(8) } }] }),
      ]
    : [frame({ role: 'assistant', content: said.slice(0, 8) }), frame({ content: said.slice(8) })];
  const thoughts = thought ? [frame(thought)] : [];
  return streamed([...thoughts, ...pieces, frame({}, finish), usageFrame, 'data: [DONE]\n\n'])(
    response,
    {} as never,
  );
};

/** Arguments for the tools of coding agents. */
const commands: Record<string, object> = {
  Bash: { command: 'echo made by a tool', description: 'Says something' },
  exec: { input: 'text((await tools.exec_command({ cmd: "echo made by a tool" })).output)' },
  exec_command: { cmd: 'echo made by a tool' },
  shell: { command: ['echo', 'made by a tool'] },
};

function callOf(tools: NonNullable<ModelRequest['tools']>): { name: string; arguments: string } | undefined {
  const tool = tools.find(({ function: { name } }) => name in commands) ?? tools[0];
  if (!tool) return undefined;
  const { name, parameters } = tool.function;
  const made = instanceOf(parameters ?? {});
  const isAboutPlace = typeof made === 'object' && made !== null && 'city' in made;
  const args = commands[name] ?? (isAboutPlace ? { city: 'Rome' } : made);
  return { name, arguments: JSON.stringify(args) };
}

/** Returns a text, or the texts of the parts and the types of the others. */
function textOf(content: unknown): string {
  if (!Array.isArray(content)) return String(content);
  const parts = content as { type: string; text?: string; image_url?: { url: string } }[];
  return parts.map(({ type, text, image_url: image }) => text ?? image?.url.slice(0, 14) ?? type).join(' ');
}
