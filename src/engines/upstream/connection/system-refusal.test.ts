import { describe, expect, it } from 'vitest';
import { systemRefusal } from './system-refusal.ts';

describe('the message of a refusal', () => {
  it.each([
    'System message must be at the beginning.',
    'Jinja Exception: System message must be at the beginning.',
    "Unexpected role 'system' after role 'user'",
    'Expected last role User or Tool (or Assistant with prefix True) for serving but got system',
    'Conversation roles must alternate user/assistant/user/assistant/...',
    'Only the first message may be a system message',
    "role 'system' is only allowed as the first message",
    'messages[2]: system must be the first message',
    "messages.2.role: 'system' only allowed at index 0",
    'The system message must precede all other messages',
    'system messages must come before user messages',
    "Messages with role 'system' must be placed at position 0",
    'chat content has system role in the middle',
    'Unexpected system message in the middle of the conversation',
    'Multiple system messages are not supported',
  ])('names a wrong place: %s', (sentence) => {
    expect(systemRefusal(sentence)).toBe('misplaced');
  });

  it.each(['System role not supported', 'Only user and assistant roles are supported!'])(
    'refuses system messages everywhere: %s',
    (sentence) => {
      expect(systemRefusal(sentence)).toBe('everywhere');
    },
  );

  it.each([
    'The system failed to start before the first message',
    'The file system is at its beginning',
    'messages[1].role: unknown role tool',
    'This model has a maximum context length of 8192 tokens.',
    '',
  ])('is about something else: %s', (sentence) => {
    expect(systemRefusal(sentence)).toBeUndefined();
  });
});
