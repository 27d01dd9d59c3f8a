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
import { chatText, type RequestProfile } from './request-text.ts';
import { sentSchemas } from './sent-schemas.ts';

/** The format in which a server is asked for what is a chat completion to us. */
export interface Dialect {
  /** Behind the base of its URL. */
  path: string;
  /** The text to send. */
  text(request: JsonBody<ChatRequest>, stream: boolean, wording: RequestProfile): string;
  /** @param bytes of which `fields` were read */
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
      // Schemas are told to the digit.
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
      // Inputs of tools are parsed already, and every digit of theirs counts.
      const calls = blocksOf(fields).some(({ type }) => type === 'tool_use');
      return readChatResponse(chatFields(calls ? fieldsOf(parseExact(bytes.toString())) : fields), options);
    },
    readStream: (bytes, options) => readChatStream(bytes, options, messageChunks(options.context)),
  },
} satisfies Record<string, Dialect>;
