import type { Answer } from '../../support/fake-upstream.ts';
import { frame, send, startFakeUpstream, streamed, usageFrame } from '../../support/fake-upstream.ts';
import type { FakeUpstream } from '../../support/fake-upstream.ts';

interface Asked {
  messages: { role: string; content: unknown }[];
  tools?: { function: { name: string } }[];
  stream?: boolean;
}

/**
 * A model's server that uses tools as a good model does: it calls the first one about Rome, and once it has the result
 * tells it. So a round trip of tools is one through the whole of Offpeak, and the result is seen to have arrived. The
 * pieces of a streamed call come without a role, as from some servers. Without tools it tells what was said so far.
 */
export function startWeatherModel(): Promise<FakeUpstream> {
  return startFakeUpstream(weatherModel);
}

const weatherModel: Answer = (response, { text }) => {
  const { messages, tools, stream } = JSON.parse(text) as Asked;
  const last = messages.at(-1);
  const tool = last?.role === 'tool' ? undefined : tools?.[0]?.function.name;
  if (last?.content === 'for ever') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frame({ role: 'assistant', content: 'and' }));
    return;
  }
  const said =
    last?.role === 'tool'
      ? `The tool said: ${String(last.content)}`
      : messages.map(({ content }) => String(content)).join(' | ');
  const call = { id: 'call_1', type: 'function' };
  const calls = [{ ...call, function: { name: tool, arguments: '{"city":"Rome"}' } }];
  const finish = tool ? 'tool_calls' : 'stop';
  if (!stream) {
    const message = { role: 'assistant', content: tool ? null : said, ...(tool && { tool_calls: calls }) };
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
  const pieces = tool
    ? [
        frame({ tool_calls: [{ index: 0, ...call, function: { name: tool, arguments: '' } }] }),
        frame({ tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] }),
        frame({ tool_calls: [{ index: 0, function: { arguments: '"Rome"}' } }] }),
      ]
    : [frame({ role: 'assistant', content: said.slice(0, 8) }), frame({ content: said.slice(8) })];
  return streamed([...pieces, frame({}, finish), usageFrame, 'data: [DONE]\n\n'])(response, {} as never);
};
