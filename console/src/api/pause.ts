import { focusManager } from '@tanstack/react-query';
import { createFlag } from './flag.ts';

/** True while the screen shows one moment: nothing on it changes by itself. */
const paused = createFlag(false);

export const setPaused = paused.set;
export const usePaused = paused.use;

// A page without the focus reads nothing at intervals. What has become old is read at the end of the pause.
paused.on((isPaused) => focusManager.setFocused(isPaused ? false : undefined));
