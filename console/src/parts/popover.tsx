import { type ReactNode, useId, useRef, useState } from 'react';
import { Button } from './button.tsx';
import css from './popover.module.css';

interface PopoverProps {
  /** Word on the button. */
  label: string;
  /** Name of what opens, for screen readers. */
  title: string;
  /** The content while it is open, by the id of the panel. */
  children: (panelId: string) => ReactNode;
}

/** Button that opens a small panel below it. The browser closes it by Escape and by a click elsewhere, and gives the focus back. */
export function Popover({ label, title, children }: PopoverProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);

  function place(): void {
    setOpen(true);
    const { bottom, right } = button.current!.getBoundingClientRect();
    const { style } = panel.current!;
    style.top = `${bottom + 4}px`;
    style.right = `${Math.max(8, document.documentElement.clientWidth - right)}px`;
  }

  return (
    <>
      <Button ref={button} popoverTarget={id}>
        {label} <span aria-hidden="true">▾</span>
      </Button>
      <div
        ref={panel}
        id={id}
        popover="auto"
        role="group"
        aria-label={title}
        className={css.panel}
        onBeforeToggle={({ newState }) => newState === 'open' && place()}
        // Afterwards, because the browser takes the focus back from what is inside.
        onToggle={({ newState }) => newState === 'closed' && setOpen(false)}
      >
        {isOpen && children(id)}
      </div>
    </>
  );
}
