import type { RemoteBatch } from '../../client/resources.ts';
import { showPath } from '../shared/local-file.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { CheckedAnswer, Sample } from './check-results.ts';

/** Answers shown of each kind; the kind is the part of a custom_id before the dash. */
const perKind = 3;

export function showAnswers({ answered }: Sample, terminal: Terminal): void {
  const kinds = Map.groupBy(answered, ({ customId }) => customId.split('-')[0]);
  const rows = [...kinds.values()].flatMap((group) =>
    group.slice(0, perKind).map(({ prompt, answer }) => [prompt, answer]),
  );
  terminal.table(['request', 'answer'], rows);
}

export function showTotals(batch: RemoteBatch, sample: Sample, took: string, terminal: Terminal): void {
  const { request_counts: counts, usage, cost } = batch;
  const valid = (kind: CheckedAnswer['kind']) => {
    const all = sample.answered.filter((one) => one.kind === kind);
    return `${all.filter((one) => one.problem === null).length} of ${all.length}`;
  };
  terminal.record([
    ['requests', `${counts.completed} completed, ${counts.failed} failed, of ${counts.total}`],
    ['strict JSON', `${valid('json')} conform to their schema`],
    ['forced calls', `${valid('tool')} call their tool with valid arguments`],
    ['tokens', usage && `${usage.input_tokens} in, ${usage.output_tokens} out`],
    ['cost', cost && `${cost.amount} ${cost.currency} as a batch, ${cost.list_amount} as single requests`],
    ['took', `${took} from upload to results`],
  ]);
}

/** Prints the files of the demo and commands to try next, which start a server unless it is still running. */
export function showNextSteps(
  { folder, url, key, running }: { folder: string; url: string; key: string; running: boolean },
  terminal: Terminal,
): void {
  const shown = showPath({ cwd: process.cwd() }, folder);
  const heading = (text: string) => terminal.print(`\n${terminal.paint('bold', text)}`);
  heading('Files');
  terminal.record([
    ['requests', `${shown}/demo.jsonl`],
    ['results', `${shown}/results.jsonl`],
    ['data', `${shown}/data`],
  ]);
  heading('Next steps');
  if (!running)
    terminal.print(
      `${terminal.self.command} serve --data ${shown}/data   # the same data and keys, on ${url}`,
    );
  terminal.print(`# In a browser, sign in with the key below: ${url}/console/`);
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
