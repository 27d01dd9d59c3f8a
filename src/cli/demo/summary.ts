import { relative } from 'node:path';
import type { RemoteBatch } from '../../client/resources.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { CheckedAnswer, Sample } from './check-results.ts';

/** How many answers of each kind are shown; a kind is what stands before the dash of a custom_id. */
const perKind = 3;

/** Some answers of every kind beside what was asked. */
export function showAnswers({ answered }: Sample, terminal: Terminal): void {
  const kinds = Map.groupBy(answered, ({ customId }) => customId.split('-')[0]);
  const rows = [...kinds.values()].flatMap((group) =>
    group.slice(0, perKind).map(({ prompt, answer }) => [prompt, answer]),
  );
  terminal.table(['request', 'answer'], rows);
}

/** Counts, promises kept, tokens and money of a batch. */
export function showTotals(batch: RemoteBatch, sample: Sample, took: string, terminal: Terminal): void {
  const { request_counts: counts, usage, cost } = batch;
  const kept = (kind: CheckedAnswer['kind']) => {
    const all = sample.answered.filter((one) => one.kind === kind);
    return `${all.filter((one) => one.problem === null).length} of ${all.length}`;
  };
  terminal.record([
    ['requests', `${counts.completed} completed, ${counts.failed} failed, of ${counts.total}`],
    ['strict JSON', `${kept('json')} conform to their schema`],
    ['forced calls', `${kept('tool')} call their tool with valid arguments`],
    ['tokens', usage && `${usage.input_tokens} in, ${usage.output_tokens} out`],
    ['cost', cost && `${cost.amount} ${cost.currency} as a batch, ${cost.list_amount} one by one`],
    ['took', `${took} from upload to results`],
  ]);
}

export interface NextSteps {
  folder: string;
  url: string;
  key: string;
  /** Whether the server goes on running after this. */
  running: boolean;
}

/** Where everything is, and how to go on. */
export function showNextSteps({ folder, url, key, running }: NextSteps, terminal: Terminal): void {
  const shown = relative(process.cwd(), folder).startsWith('..') ? folder : relative(process.cwd(), folder);
  const heading = (text: string) => terminal.print(`\n${terminal.paint('bold', text)}`);
  heading('Files');
  terminal.record([
    ['requests', `${shown}/demo.jsonl`],
    ['results', `${shown}/results.jsonl`],
    ['data', `${shown}/data`],
  ]);
  heading('Go on');
  if (!running)
    terminal.print(
      `${terminal.self.command} serve --data ${shown}/data   # the same data and keys, on ${url}`,
    );
  terminal.print(`export OFFPEAK_URL=${url} OFFPEAK_API_KEY=${key}
${terminal.self.command} chat "What is the capital of Italy?"
${terminal.self.command} batch run ${shown}/demo.jsonl -o again.jsonl

curl ${url}/v1/chat/completions -H "Authorization: Bearer $OFFPEAK_API_KEY" -H "Content-Type: application/json" \\
  -d '{"model": "default", "messages": [{"role": "user", "content": "What is 2 plus 3?"}]}'

# JavaScript: npm install openai
const client = new OpenAI({ baseURL: '${url}/v1', apiKey: process.env.OFFPEAK_API_KEY })

# Python: pip install openai
client = OpenAI(base_url="${url}/v1", api_key=os.environ["OFFPEAK_API_KEY"])`);
}
