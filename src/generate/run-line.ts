import { noUsage } from '../core/usage.ts';
import type { EngineCall } from '../engines/engines.ts';
import { type Answering, goesNatively } from './answering.ts';
import { usageOf } from './answers.ts';
import type { Generate, LineAnswer } from './generate.ts';
import type { Lanes } from './lanes.ts';

/** Runs lines of batches, in the format of each. */
export function createRunLine(lanes: Lanes, answering: Answering): Generate['runLine'] {
  return async ({ model, orgId, asked, prefix, deadline, signal }) => {
    const { pool, admission } = lanes.of(model.id);
    const leave = admission.enter('batch');
    const how: EngineCall = { signal, priority: 'batch', prefix, org: orgId, deadline };
    let isAnswered = false;
    const run = async (): Promise<LineAnswer> => {
      if (asked.kind === 'embeddings') {
        const response = await answering.embed({ pool, model }, asked.request(), how);
        return { body: response, usage: { ...noUsage, inputTokens: response.usage.prompt_tokens } };
      }
      if (asked.kind === 'completions') {
        const response = await answering.complete({ pool, model }, asked.request(), how);
        return { body: response, usage: usageOf(response.usage) };
      }
      const { chat, native } = asked;
      const promised = await answering.promise(pool, chat, orgId, signal);
      if (native && goesNatively(pool, native.op, chat)) {
        const answer = await pool.native.ask(native.op, native.request(), how);
        return { body: native.answer(answer, answering.name(model)), usage: usageOf(answer.usage) };
      }
      const response = await answering.chat({ pool, model }, asked.request(), promised, how);
      return { body: asked.told(response), usage: usageOf(response.usage) };
    };
    try {
      const answer = await run();
      isAnswered = true;
      return answer;
    } catch (error) {
      throw asked.moved(error);
    } finally {
      leave(isAnswered);
    }
  };
}
