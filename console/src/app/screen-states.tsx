import { type ErrorComponentProps, Link } from '@tanstack/react-router';
import { EmptyState } from '../parts/empty-state.tsx';
import { ErrorState } from '../parts/error-state.tsx';
import { Loading } from '../parts/loading.tsx';
import { Screen } from '../parts/screen.tsx';

export function ScreenLoading() {
  return <Loading what="the screen" rows={6} />;
}

export function ScreenError({ error, reset }: ErrorComponentProps) {
  const failure = error instanceof Error ? error : new Error(String(error));
  return <ErrorState error={failure} what="This screen" onRetry={reset} />;
}

export function NotFound() {
  return (
    <Screen title="No such page">
      <EmptyState title="The address leads to no screen of the console.">
        <Link to="/">Go to the overview</Link>
      </EmptyState>
    </Screen>
  );
}
