import type { PreparedChat } from '../wire/prepared/prepared-request.ts';
import type { Inference, InteractiveCall } from './inference.ts';

/** Answers a request of any format in one piece: natively where the engine supports the format, else from a chat completion. */
export async function runRequest<Answer extends object | string>(
  inference: Pick<Inference, 'goesNatively' | 'native' | 'chat'>,
  asked: PreparedChat<Answer>,
  call: InteractiveCall,
): Promise<Answer> {
  const { chat, native } = asked;
  try {
    if (native && inference.goesNatively(native.op, chat, call.caller))
      return await inference.native(native.op, { request: native.request(), chat }, call, (answer, name) =>
        native.answer(answer, name),
      );
    return asked.present(await inference.chat(asked.request(), call));
  } catch (error) {
    throw asked.mapError(error);
  }
}
