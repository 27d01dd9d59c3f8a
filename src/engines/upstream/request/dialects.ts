import type { ChatChunks, ChatRequest, ChatResponse } from '../../../wire/chat/chat.ts';
import { exactValue, parseExact } from '../../../wire/json/exact-numbers.ts';
import type { JsonBody } from '../../../wire/json/json-body.ts';
import { fromChatRequest } from '../messages/from-chat-request.ts';
import { readChatResponse, type ReadOptions } from '../answer/chat-response.ts';
import { type ChatStreamOptions, readChatStream } from '../answer/chat-stream.ts';
import { type Fields, fieldsOf } from '../../../base/fields.ts';
import { blocksOf, chatFields } from '../messages/read-message.ts';
import { messageChunks } from '../messages/read-message-stream.ts';
import { withThinking } from '../messages/thinking.ts';
import type { SystemPlace } from '../systems/move-system-messages.ts';
import { chatText, type RequestProfile } from './request-text.ts';
import { sentSchemas } from './sent-schemas.ts';

/** Format in which a server is sent chat completions. */
export interface Dialect {
  /** Path below the base of the URL. */
  path: string;
  /** Text to send. @param place of system messages, where the format has them among the others */
  text(request: JsonBody<ChatRequest>, stream: boolean, profile: RequestProfile, place?: SystemPlace): string;
  /** @param bytes source of `fields` */
  read(fields: Fields, bytes: Buffer, options: ReadOptions): ChatResponse;
  readStream(bytes: AsyncIterable<Uint8Array>, options: ChatStreamOptions): ChatChunks;
}

export const dialects = {
  chat: {
    path: '/chat/completions',
    text: chatText,
    read: (fields, _, options) => readChatResponse(fields, options),
    readStream: readChatStream,
  },
  messages: {
    path: '/messages',
    text(body, stream, { model, passThrough, traits }) {
      const { value } = body;
      // Numbers in schemas keep every digit.
      const { tools, response_format } = exactValue(body);
      const chat = {
        ...value,
        model,
        stream,
        ...(tools && { tools }),
        ...(response_format && { response_format }),
      };
      const request = withThinking(fromChatRequest({ ...chat, ...sentSchemas(chat, traits) }), value);
      for (const name of passThrough) if (value[name] !== undefined) request[name] = value[name];
      return JSON.stringify(request);
    },
    read(fields, bytes, options) {
      // Inputs of tools are JSON values, whose numbers keep every digit.
      const calls = blocksOf(fields).some(({ type }) => type === 'tool_use');
      return readChatResponse(chatFields(calls ? fieldsOf(parseExact(bytes.toString())) : fields), options);
    },
    readStream: (bytes, options) => readChatStream(bytes, options, messageChunks(options.context)),
  },
} satisfies Record<string, Dialect>;
