import type { PreparedChat } from '../wire/prepared/prepared-request.ts';
import type { Inference, InteractiveCall } from './inference.ts';

/**
 * The answer to a request of any format, as one: from an engine that speaks the format as the engine gave it, else of a chat
 * completion.
 */
export async function answerWhole<Answer extends object | string>(
  generate: Pick<Inference, 'goesNatively' | 'native' | 'chat'>,
  asked: PreparedChat<Answer>,
  call: InteractiveCall,
): Promise<Answer> {
  const { chat, native } = asked;
  try {
    if (native && generate.goesNatively(native.op, chat, call.caller))
      return await generate.native(native.op, { request: native.request(), chat }, call, (given, name) =>
        native.answer(given, name),
      );
    return asked.present(await generate.chat(asked.request(), call));
  } catch (error) {
    throw asked.mapError(error);
  }
}
