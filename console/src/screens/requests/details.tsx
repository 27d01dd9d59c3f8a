import { serverPath } from '../../api/base.ts';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { type Fact, Facts } from '../../parts/facts.tsx';
import { count, exactTime, latency, toMs } from '../../parts/format.ts';
import { Money } from '../../parts/money.tsx';
import { keyOf, orgOf, Result } from './columns.tsx';
import css from './details.module.css';
import { phasesOf } from './phases.ts';
import type { RecentRequest } from './queries.ts';

interface DetailsProps {
  request: RecentRequest;
  onClose: () => void;
}

/** All that is known of a request. */
export function Details({ request, onClose }: DetailsProps) {
  return (
    <Dialog title="Request" onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      <div className={css.head}>
        <code>{request.id}</code>
        <CopyButton text={request.id} what="the request ID" />
      </div>
      <Phases request={request} />
      <Facts facts={factsOf(request)} />
    </Dialog>
  );
}

function Phases({ request }: { request: RecentRequest }) {
  const phases = phasesOf(request);
  if (phases.length === 0) return null;
  return (
    <div>
      <div className={css.phases} aria-hidden="true">
        {phases.map(({ name, ms }) => (
          <span key={name} className={css.phase} data-phase={name} style={{ flex: `${ms} 0 0` }} />
        ))}
      </div>
      <p className={css.legend}>
        {phases.map(({ name, label, ms }) => (
          <span key={name} data-phase={name}>
            {label} {latency(ms)}
          </span>
        ))}
      </p>
    </div>
  );
}

function factsOf(request: RecentRequest): Fact[] {
  const facts: Fact[] = [
    { label: 'Result', value: <Result {...request} /> },
    { label: 'Started', value: exactTime(toMs(request.started_at)) },
    { label: 'Took', value: latency(request.ms) },
    { label: 'Endpoint', value: <code>{request.endpoint}</code> },
    { label: 'Model', value: request.model ?? 'None was reached' },
    { label: 'Server', value: request.server ?? '–' },
    { label: 'Tokens', value: tokensOf(request) },
    { label: 'Cost', value: request.amount === null ? 'Not charged' : <Money amount={request.amount} /> },
    { label: 'Org', value: <span title={request.org_id}>{orgOf(request)}</span> },
    { label: 'Key', value: <span title={request.key_id}>{keyOf(request)}</span> },
    { label: 'Process', value: <code>{request.process}</code> },
  ];
  if (request.code !== null)
    facts.splice(1, 0, {
      label: 'What to do',
      value: (
        <a href={`${serverPath}docs/errors`} target="_blank" rel="noreferrer">
          Errors and their causes
        </a>
      ),
    });
  return facts;
}

function tokensOf({ input_tokens: input, cached_tokens: cached, output_tokens: output }: RecentRequest) {
  if (input === null || output === null) return '–';
  const inputText = cached ? `${count(input)} in, ${count(cached)} of them cached` : `${count(input)} in`;
  return `${inputText}; ${count(output)} out`;
}
