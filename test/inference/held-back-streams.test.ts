import { describe, expect, it } from 'vitest';
import { openRaw } from '../server/support/raw-http.ts';
import { startServer } from '../server/support/start-server.ts';
import { createManualClock } from '../support/manual-clock.ts';

// An answer that is checked before it is streamed keeps its connection alive meanwhile, in every format.

const parameters = { type: 'object', properties: { city: { enum: ['Oslo'] } }, required: ['city'] };
const formats = [
  {
    path: '/v1/chat/completions',
    ask: (content: string) => ({
      messages: [{ role: 'user', content }],
      tools: [{ type: 'function', function: { name: 'weather', parameters } }],
      tool_choice: { type: 'function', function: { name: 'weather' } },
    }),
    call: /"tool_calls":\[\{"index":0,"id":"call_\w+","type":"function","function":\{"name":"weather","arguments":""\}/,
    finish: '"finish_reason":"tool_calls"',
    end: 'data: [DONE]',
    failed: /\ndata: \{"error":\{[^\n]*"code":"tool_not_called"/,
  },
  {
    path: '/v1/responses',
    ask: (input: string) => ({
      input,
      tools: [{ type: 'function', name: 'weather', parameters }],
      tool_choice: { type: 'function', name: 'weather' },
    }),
    call: /event: response\.function_call_arguments\.done\n/,
    finish: '"status":"completed"',
    end: 'event: response.completed',
    failed: /\nevent: error\ndata: \{"type":"error"[^\n]*"tool_not_called"/,
  },
  {
    path: '/v1/messages',
    ask: (content: string) => ({
      max_tokens: 100,
      messages: [{ role: 'user', content }],
      tools: [{ name: 'weather', input_schema: parameters }],
      tool_choice: { type: 'tool', name: 'weather' },
    }),
    call: /"content_block":\{"type":"tool_use","id":"call_\w+","name":"weather","input":\{\}\}/,
    finish: '"stop_reason":"tool_use"',
    end: 'event: message_stop',
    failed: /\nevent: error\ndata: \{"type":"error"[^\n]*"tool_not_called"/,
  },
];

describe.each(formats)('POST $path', ({ path, ask, call, finish, end, failed }) => {
  it.each([
    ['met at once', '', 1],
    ['met on the second attempt', '[[bad-schema 1]]', 2],
    ['not met', '[[bad-schema]]', 2],
  ])('a guarantee that is %s', async (_how, directive, tries) => {
    const clock = createManualClock();
    const running = await startServer({ clock });
    const connection = await openRaw(running.url);
    try {
      const json = { model: 'tiny', stream: true, ...ask(`[[delay 20000]] ${directive} How is Oslo?`) };
      const body = JSON.stringify(json);
      const head = `Authorization: Bearer ${running.keys.a}\r\nContent-Type: application/json`;
      connection.write(
        `POST ${path} HTTP/1.1\r\nHost: x\r\n${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      for (let tried = 1; tried <= tries; tried++) {
        await expect.poll(() => running.engine.stats()).toMatchObject({ calls: tried, running: 1 });
        await clock.advance(20_000);
      }
      const text = await connection.until('\r\n0\r\n\r\n');
      expect(text).toMatch(/^HTTP\/1.1 200 OK/);
      expect(text.match(/^: keep-alive$/gm)?.length).toBe(tries === 1 ? 1 : 2);
      expect(text.indexOf(': keep-alive')).toBeLessThan(text.indexOf('data:'));
      if (directive === '[[bad-schema]]') {
        expect(text).toMatch(failed);
        expect(text).not.toContain(end);
        return;
      }
      expect(text).toMatch(call);
      expect(text).toContain(finish);
      expect(text).toContain(end);
      expect(text).not.toContain('not what was asked for');
    } finally {
      connection.socket.destroy();
      await running.stop();
    }
  });
});
