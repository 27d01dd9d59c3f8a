import { expect, it } from 'vitest';
import { nativeMessages } from './native-messages.ts';

const broken = { code: 'invalid_upstream_response' };

it.each(['network_error', 'abort'])('rejects a message that its server aborted: %s', (reason) => {
  const content = [{ type: 'text', text: 'The answer is' }];
  expect(() => nativeMessages.read({ content, stop_reason: reason })).toThrow(
    expect.objectContaining(broken),
  );
  const read = nativeMessages.createReader({ now: 0, secrets: [], logMessage() {} });
  const data = JSON.stringify({ type: 'message_delta', delta: { stop_reason: reason }, usage: {} });
  expect(() => read({ event: 'message_delta', data, id: undefined })).toThrow(
    expect.objectContaining(broken),
  );
});

it.each(['end_turn', 'model_context_window_exceeded', 'pause_turn', 'refusal'])(
  'passes on a message that ended with %s',
  (reason) => {
    const content = [{ type: 'text', text: 'hi' }];
    expect(nativeMessages.read({ content, stop_reason: reason }).generated).toBe('hi');
  },
);
