import { ApiFailure } from '../../api/failure.ts';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { count, duration } from '../../parts/format.ts';
import { Money } from '../../parts/money.tsx';
import { State, type StateKind } from '../../parts/state.tsx';
import { type Stat, Stats } from '../../parts/stats.tsx';
import { adviceFor } from './advice.ts';
import { tokensPerSecond } from './measures.ts';
import css from './playground.module.css';
import type { Run } from './run.ts';

const states: Readonly<Record<Run['status'], { kind: StateKind; word: string }>> = {
  running: { kind: 'running', word: 'Running' },
  done: { kind: 'done', word: 'Done' },
  stopped: { kind: 'stopped', word: 'Stopped' },
  failed: { kind: 'failed', word: 'Failed' },
};

interface AnswerViewProps {
  run: Run | undefined;
  /** Decimal dollars; null if unknown. */
  cost: string | null;
  /** Takes the answer into the conversation. */
  onContinue: (text: string) => void;
}

/** Answer of a run with its measures. */
export function AnswerView({ run, cost, onContinue }: AnswerViewProps) {
  if (!run) return <EmptyState title="Write a message and send it. The answer appears here." />;
  const { answer, error } = run;
  const { kind, word } = states[run.status];
  return (
    <div className={css.answer}>
      <p className={css.answerHead} role="status">
        <State kind={kind}>{word}</State>
        {answer.stop !== null && <span className="quiet">ended by {answer.stop}</span>}
      </p>
      {error && <Failure error={error} requestId={run.requestId} />}
      {answer.reasoning !== '' && (
        <details className={css.more}>
          <summary>Reasoning</summary>
          <p className={css.text}>{answer.reasoning}</p>
        </details>
      )}
      {answer.text !== '' && (
        <div className={css.box}>
          <p className={css.text} data-testid="answer">
            {answer.text}
          </p>
          {run.status !== 'running' && (
            <div className={css.actions}>
              <Button kind="quiet" onClick={() => onContinue(answer.text)}>
                Continue
              </Button>
              <CopyButton text={answer.text} what="the answer" />
            </div>
          )}
        </div>
      )}
      {answer.calls.map(({ name, arguments: text }, index) => (
        <div key={index} className={css.box}>
          <p>
            Calls <code>{name}</code>
          </p>
          <pre className={css.text}>{text}</pre>
        </div>
      ))}
      {run.status !== 'failed' && <Stats stats={measures(run, cost)} />}
      {run.requestId !== null && !error && (
        <p className="quiet">
          Request <code>{run.requestId}</code>
        </p>
      )}
    </div>
  );
}

function Failure({ error, requestId }: { error: Error; requestId: string | null }) {
  const advice = adviceFor(error);
  return (
    <div role="alert" className="alert">
      <p>{error.message}</p>
      {advice !== undefined && <p>{advice}</p>}
      {error instanceof ApiFailure && (
        <p className="quiet">
          {error.status > 0 && `Status ${error.status}, `}code <code>{error.code}</code>
          {requestId !== null && (
            <>
              , request <code>{requestId}</code>
            </>
          )}
        </p>
      )}
    </div>
  );
}

function measures(run: Run, cost: string | null): Stat[] {
  const { usage } = run.answer;
  const speed = tokensPerSecond(run);
  const since = (at: number | null) => (at === null ? '–' : milliseconds(at - run.startedAt));
  return [
    {
      label: 'Tokens in',
      value: usage ? count(usage.inputTokens) : '–',
      note: usage && usage.cachedTokens > 0 && `${count(usage.cachedTokens)} cached`,
    },
    {
      label: 'Tokens out',
      value: usage ? count(usage.outputTokens) : '–',
      note: usage && usage.reasoningTokens > 0 && `${count(usage.reasoningTokens)} reasoning`,
    },
    { label: 'First token', value: since(run.firstAt) },
    { label: 'Whole answer', value: since(run.endedAt) },
    { label: 'Tokens per second', value: speed === null ? '–' : speed.toFixed(speed < 10 ? 1 : 0) },
    { label: 'Cost', value: <Money amount={cost} /> },
  ];
}

function milliseconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : duration(ms);
}
