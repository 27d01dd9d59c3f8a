import { Button } from '../../parts/button.tsx';
import { compact, money } from '../../parts/format.ts';
import { Money } from '../../parts/money.tsx';
import { State } from '../../parts/state.tsx';
import { Time } from '../../parts/time.tsx';
import { NamedFact } from '../../parts/facts.tsx';
import css from './new-batch.module.css';
import { expectedEnd, inWindow, sumEstimates, type UploadedPart, windowOffers } from './plan.ts';

interface ConfirmProps {
  parts: readonly UploadedPart[];
  /** Name of the chosen window. */
  window: string;
  onWindow: (name: string) => void;
  isBusy: boolean;
  onCreate: () => void;
  onDiscard: () => void;
}

/** Cost, window and limits by a dry run of the server. */
export function Confirm({ parts: all, window, onWindow, isBusy, onCreate, onDiscard }: ConfirmProps) {
  const offers = windowOffers(all);
  const parts = all.map((part) => inWindow(part, window));
  const { amount, listAmount, inputTokens, outputTokens, isExact, exceeded } = sumEstimates(parts);
  return (
    <>
      {offers.length > 1 && (
        <div className={css.fields}>
          <label>
            Completion window
            <select value={window} onChange={(event) => onWindow(event.target.value)}>
              {offers.map(({ name, ...offer }) => (
                <option key={name} value={name}>
                  {`${name}, ${money(offer.amount)}${offer.canBeMet === false ? ', cannot be met' : ''}`}
                </option>
              ))}
            </select>
          </label>
        </div>
      )}
      <dl className="facts">
        <NamedFact name="Cost at most">
          <Money amount={amount} />{' '}
          <span className="quiet">
            (<Money amount={listAmount} /> without a batch)
          </span>
        </NamedFact>
        <NamedFact name="Input tokens">
          {compact(inputTokens)} {isExact ? '' : '(estimated)'}
        </NamedFact>
        <NamedFact name="Output tokens at most">{compact(outputTokens)}</NamedFact>
        <NamedFact name="Expected end">
          <ExpectedEnd parts={parts} />
        </NamedFact>
      </dl>
      {exceeded.map(({ name, limit, used, adds }) => (
        <State key={`${name} ${adds}`} kind="warning">
          {`${name}: ${compact(used)} of ${compact(limit)} are used, and the batch adds ${compact(adds)}.`}
        </State>
      ))}
      <div className={css.actions}>
        <Button kind="primary" autoFocus isBusy={isBusy} onClick={onCreate}>
          {parts.length === 1 ? 'Create the batch' : `Create ${parts.length} batches`}
        </Button>
        <Button onClick={onDiscard} disabled={isBusy}>
          Discard the upload
        </Button>
      </div>
    </>
  );
}

/** When the batch would be done at the measured rate, after the work before it. */
function ExpectedEnd({ parts }: { parts: readonly UploadedPart[] }) {
  const { eta, isEarliest, tokensAhead, isAtRisk, reason } = expectedEnd(parts);
  if (eta === null) return <span className="quiet">Unknown: {reason}</span>;
  return (
    <>
      {isEarliest && 'Not before '}
      <Time at={new Date(eta).toISOString()} />{' '}
      {tokensAhead > 0 && <span className="quiet">after {compact(tokensAhead)} tokens of other batches</span>}
      {isAtRisk && <State kind="warning">After the end of its window</State>}
    </>
  );
}
