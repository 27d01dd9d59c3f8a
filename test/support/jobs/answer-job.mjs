// A job as an operator's command runs it: answers each line of OFFPEAK_INPUT, in one part after another. Its first argument is the
// folder in which a test leaves wishes: `hold` (wait before the first answer), `half` (die after half of the lines), `none`
// (die before the first).
import { appendFileSync, existsSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

const [, , wishes] = process.argv;
const { OFFPEAK_INPUT: input, OFFPEAK_OUTPUT: output, OFFPEAK_JOB: job } = process.env;
const has = (name) => existsSync(`${wishes}/${name}`);
/** Takes a wish that holds for one job. */
const took = (name) => has(name) && (unlinkSync(`${wishes}/${name}`), true);

appendFileSync(`${wishes}/runs`, `${job}\n`);
const lines = readFileSync(input, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));
if (took('none')) process.exit(1);
const isHalf = took('half');
while (has('hold')) await setTimeout(20);
const kept = isHalf ? lines.slice(0, Math.ceil(lines.length / 2)) : lines;
for (let at = 0; at < kept.length; at += 3) {
  const texts = kept.slice(at, at + 3).map((line) => `${JSON.stringify(resultOf(line))}\n`);
  writeFileSync(`${output}/.part-${at}`, texts.join(''));
  renameSync(`${output}/.part-${at}`, `${output}/part-${at}.jsonl`);
}
if (isHalf) process.exit(1);

function resultOf({ custom_id, body }) {
  const text = body.messages.at(-1).content;
  if (text.startsWith('refuse'))
    return {
      custom_id,
      response: {
        status_code: 400,
        body: { error: { message: 'not this one', type: 'BadRequestError', code: 400 } },
      },
      error: null,
    };
  const message = { role: 'assistant', content: `echo ${text}` };
  const answer = {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: body.model,
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  };
  return {
    id: 'vllm-1',
    custom_id,
    response: { status_code: 200, request_id: 'r', body: answer },
    error: null,
  };
}
