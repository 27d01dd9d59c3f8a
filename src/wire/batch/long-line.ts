import type { ChatRequest, ChatResponse } from '../chat/chat.ts';
import type { PreparedChat, NativeRequest } from '../prepared/prepared-request.ts';
import type { JsonBody } from '../json/json-body.ts';

type Answer = object | string;

/**
 * Prepared long line. Its converted request is released when it is sent, and prepared again if the answer or an error
 * needs it afterwards.
 */
export class LongLine implements PreparedChat {
  readonly kind = 'chat';
  readonly #body: JsonBody<unknown>;
  readonly #prepare: () => PreparedChat;
  #prepared: PreparedChat | null;

  /** @param prepare prepares the body again */
  constructor(body: JsonBody<unknown>, prepared: PreparedChat, prepare: () => PreparedChat) {
    this.#body = body;
    this.#prepared = prepared;
    this.#prepare = prepare;
  }

  get chat(): ChatRequest {
    return this.#again().chat;
  }

  request(): JsonBody<ChatRequest> {
    return this.#releasable(() => this.#again().request());
  }

  get native(): NativeRequest<Answer> | null {
    const native = this.#again().native;
    if (!native) return null;
    return {
      op: native.op,
      request: () => this.#releasable(() => this.#again().native!.request()),
      answer: (given, identity) => this.#again().native!.answer(given, identity),
    };
  }

  present(answer: ChatResponse): Answer {
    return this.#again().present(answer);
  }

  mapError(error: unknown): unknown {
    return this.#again().mapError(error);
  }

  #again(): PreparedChat {
    return (this.#prepared ??= this.#prepare());
  }

  #releasable<T>(build: () => JsonBody<T>): JsonBody<T> {
    let body: JsonBody<T> | null = build();
    const again = () => (body ??= build());
    return {
      ...(body.isBuilt && { isBuilt: true }),
      get value() {
        return again().value;
      },
      get text() {
        return again().text;
      },
      release: () => {
        body = null;
        this.#prepared = null;
        this.#body.release?.();
      },
    };
  }
}
