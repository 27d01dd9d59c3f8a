import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { ErrorState } from '../../parts/error-state.tsx';
import { count } from '../../parts/format.ts';
import { Loading } from '../../parts/loading.tsx';
import { Money } from '../../parts/money.tsx';
import { State } from '../../parts/state.tsx';
import { Time } from '../../parts/time.tsx';
import { BodyView } from './body-view.tsx';
import { Difference } from './difference.tsx';
import { NamedFact } from '../../parts/facts.tsx';
import css from './lines.module.css';
import { lineState, took } from './line-state.ts';
import { type DetailWithTexts, hasTexts, type LineDetail, lineQuery, type LinesOf } from './queries.ts';
import { answerTurns, requestTurns } from './turns.ts';

interface LineViewProps {
  of: LinesOf;
  number: number;
  /** Lines of the batch. */
  total: number;
  onOpen: (line: number) => void;
  onClose: () => void;
}

/** One line: its request and its answer side by side, its attempts, and what a retry changed. */
export function LineView({ of, number, total, onOpen, onClose }: LineViewProps) {
  const { data, error, refetch } = useQuery(lineQuery(of, number));
  return (
    <aside className={css.detail} aria-label={`Line ${number}`}>
      <div className={css.detailHead}>
        <h2>Line {count(number)}</h2>
        <span>
          <Button kind="quiet" disabled={number <= 1} onClick={() => onOpen(number - 1)}>
            Previous
          </Button>
          <Button kind="quiet" disabled={number >= total} onClick={() => onOpen(number + 1)}>
            Next
          </Button>
          <Button kind="quiet" onClick={onClose}>
            Close
          </Button>
        </span>
      </div>
      {data ? (
        <Detail line={data} />
      ) : error ? (
        <ErrorState error={error} what="The line" onRetry={() => void refetch()} />
      ) : (
        <Loading what="the line" rows={8} />
      )}
    </aside>
  );
}

function Detail({ line }: { line: LineDetail }) {
  const { kind, word } = lineState[line.state];
  return (
    <>
      <dl className="facts">
        <NamedFact name="State">
          <State kind={kind}>{word}</State>
        </NamedFact>
        <NamedFact name="custom_id">
          <code>{line.custom_id ?? '–'}</code>
        </NamedFact>
        <NamedFact name="Model">{line.model ?? '–'}</NamedFact>
        {line.usage && (
          <NamedFact name="Tokens">
            {count(line.usage.input_tokens)} in, {count(line.usage.output_tokens)} out
          </NamedFact>
        )}
        <NamedFact name="Cost">
          <Money amount={line.cost?.amount} />
        </NamedFact>
        {line.duration_ms !== null && <NamedFact name="Took">{took(line.duration_ms)}</NamedFact>}
        {line.finished_at !== null && (
          <NamedFact name="Finished">
            <Time at={line.finished_at} />
          </NamedFact>
        )}
        {'server' in line && <NamedFact name="Server">{line.server ?? '–'}</NamedFact>}
        {line.attempts !== null && <NamedFact name="Attempts">{count(line.attempts)}</NamedFact>}
      </dl>
      {line.error && (
        <p className="alert">
          <code>{line.error.code}</code> {'message' in line.error && line.error.message}
        </p>
      )}
      {hasTexts(line) && <Texts line={line} />}
      {line.failed_attempts.length > 0 && <Attempts line={line} />}
      {hasTexts(line) && line.original && <Difference line={line} original={line.original} />}
    </>
  );
}

/** Request and answer, as turns of a conversation or as JSON. */
function Texts({ line }: { line: DetailWithTexts }) {
  const [isJson, setJson] = useState(false);
  return (
    <>
      <label className="check">
        <input type="checkbox" checked={isJson} onChange={(event) => setJson(event.target.checked)} />
        Show JSON
      </label>
      <div className={css.panes}>
        <BodyView
          title="Request"
          turns={requestTurns(line.input)}
          body={line.input}
          isJson={isJson}
          missing="The input file of the batch is gone."
        />
        <BodyView
          title="Answer"
          turns={answerTurns(line.output)}
          body={line.output}
          isJson={isJson || line.state === 'failed'}
          missing={line.state === 'failed' ? 'The line failed without an answer.' : 'Not answered yet.'}
        />
      </div>
    </>
  );
}

function Attempts({ line: { failed_attempts: attempts } }: { line: LineDetail }) {
  return (
    <section aria-label="Failed attempts">
      <h3>Failed attempts</h3>
      <ul className={css.attempts}>
        {attempts.map(({ at, code, duration_ms: ms, replica_id: replica }) => (
          <li key={String(at) + code}>
            <State kind="failed">{code}</State>
            <span>after {took(ms)}</span>
            <Time at={at} />
            {replica && <code title="Replica">{replica}</code>}
          </li>
        ))}
      </ul>
    </section>
  );
}
