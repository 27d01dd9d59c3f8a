import { useEffect } from 'react';
import { setPaused, usePaused } from '../api/pause.ts';
import { Button } from './button.tsx';
import { State } from './state.tsx';

/** Stops the live updates of a screen, so that nothing moves under the pointer. They go on when the screen is left. */
export function PauseButton() {
  const isPaused = usePaused();
  useEffect(() => () => setPaused(false), []);
  return (
    <>
      <span role="status">{isPaused && <State kind="stopped">Updates paused</State>}</span>
      <Button
        kind={isPaused ? 'primary' : 'quiet'}
        data-pause
        aria-keyshortcuts="p"
        title={isPaused ? 'Shows the present state again' : 'Nothing moves until you resume'}
        onClick={() => setPaused(!isPaused)}
      >
        {isPaused ? 'Resume updates' : 'Pause updates'}
      </Button>
    </>
  );
}
