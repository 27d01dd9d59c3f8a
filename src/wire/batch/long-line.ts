import type { ChatRequest, ChatResponse } from '../chat/chat.ts';
import type { PreparedChat, NativeRequest } from '../prepared/prepared-request.ts';
import type { JsonBody } from '../json/json-body.ts';

type Answer = object | string;

/**
 * A long line that is turned into a chat, or into what a server of its own format takes. All that it was turned into is let go
 * when the line is sent, and made once more where something is asked afterwards: what its answer repeats, where a fault was.
 */
export class LongLine implements PreparedChat {
  readonly kind = 'chat';
  readonly #body: JsonBody<unknown>;
  readonly #make: () => PreparedChat;
  #asked: PreparedChat | null;

  /**
   * @param body as it came
   * @param asked what it comes to
   * @param make the same anew
   */
  constructor(body: JsonBody<unknown>, asked: PreparedChat, make: () => PreparedChat) {
    this.#body = body;
    this.#asked = asked;
    this.#make = make;
  }

  get chat(): ChatRequest {
    return this.#again().chat;
  }

  request(): JsonBody<ChatRequest> {
    return this.#letting(() => this.#again().request());
  }

  get native(): NativeRequest<Answer> | null {
    const native = this.#again().native;
    if (!native) return null;
    return {
      op: native.op,
      request: () => this.#letting(() => this.#again().native!.request()),
      answer: (given, name) => this.#again().native!.answer(given, name),
    };
  }

  present(answer: ChatResponse): Answer {
    return this.#again().present(answer);
  }

  mapError(error: unknown): unknown {
    return this.#again().mapError(error);
  }

  #again(): PreparedChat {
    return (this.#asked ??= this.#make());
  }

  #letting<T>(make: () => JsonBody<T>): JsonBody<T> {
    let body: JsonBody<T> | null = make();
    const again = () => (body ??= make());
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
        this.#asked = null;
        this.#body.release?.();
      },
    };
  }
}
