import type { PodContext } from './options.ts';
import type { Faults } from './field-error.ts';

export type Source = Readonly<Record<string, unknown>>;

/** The volume that a source belongs to. */
export interface VolumeContext {
  readonly name: string;
  readonly context: PodContext;
}

/** The faults of one kind of source; `field` ends in that kind. */
export type SourceRule = (field: string, source: Source, volume: VolumeContext) => Faults;
