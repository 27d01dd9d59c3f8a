/** Values of `gpu` in the configuration. */
export const gpuChoices = ['auto', 'off', 'cuda', 'vulkan', 'metal'] as const;
export type GpuChoice = (typeof gpuChoices)[number];

/** Interfaces to graphics cards for which llama.cpp has builds. */
export type GpuKind = Exclude<GpuChoice, 'auto' | 'off'>;

/** Use of graphics cards by a model. */
export interface CardWish {
  gpu: Exclude<GpuChoice, 'off'>;
  /** Layers on the cards, of which the output is one; `auto` for as many as fit. */
  layers: number | 'auto';
  /** Bytes of each card that are left to others. */
  reserve: number;
}

/** Memory of a card for the desktop and other programs, unless configured. */
export const defaultVramReserve = 512 * 1024 ** 2;

/** Builds that `offpeak engine install` fetches; the one for Metal comes with the engine. */
export const installableKinds = ['cuda', 'vulkan'] as const satisfies readonly GpuKind[];
export type InstallableKind = (typeof installableKinds)[number];

/** Graphics card, with its memory in bytes. */
export interface Card {
  name: string;
  free: number;
}

/** Cards that one build drives. */
export interface Cards {
  kind: GpuKind;
  cards: Card[];
  /** Memory of all of them. */
  total: number;
  /** True if they use the memory of the processor, as on Macs and with graphics inside a processor. */
  isShared: boolean;
}

/** Usable cards, or the reason why there are none; no reason if none are wanted or no build is installed. */
export type CardChoice = { found: Cards; why: null } | { found: null; why: string | null };

/** Build for a graphics card in the folder of the engine. */
export interface InstalledBuild {
  kind: InstallableKind;
  /** Version of node-llama-cpp that it belongs to. */
  version: string;
  bytes: number;
  state: 'ready' | 'other version' | 'damaged';
}

/** State of the embedded engine on this machine. */
export interface EngineStatus {
  /** Version of node-llama-cpp. */
  version: string;
  folder: string;
  builds: InstalledBuild[];
  choice: CardChoice;
}
