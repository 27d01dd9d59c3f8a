import { ApiFailure } from '../api/failure.ts';
import { Button } from './button.tsx';
import css from './states.module.css';

interface ErrorStateProps {
  error: Error;
  /** Begin of the sentence "... could not be loaded", such as `The batches`. */
  what: string;
  onRetry: () => void;
}

/** Says what failed and why, and offers to try again. */
export function ErrorState({ error, what, onRetry }: ErrorStateProps) {
  const requestId = error instanceof ApiFailure ? error.requestId : null;
  return (
    <div className={css.state} role="alert">
      <p className={css.title}>{what} could not be loaded.</p>
      <div className={css.body}>
        <p>{error.message}</p>
        {requestId && (
          <p>
            Request <code>{requestId}</code>
          </p>
        )}
        <Button onClick={onRetry}>Try again</Button>
      </div>
    </div>
  );
}
