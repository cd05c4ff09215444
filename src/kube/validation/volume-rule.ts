import type { PodContext } from './options.ts';
import type { Faults } from './field-error.ts';

export type Source = Readonly<Record<string, unknown>>;

/** The volume of a source. */
export interface VolumeContext {
  readonly name: string;
  readonly context: PodContext;
}

/** Validates one kind of source; `field` ends with that kind. */
export type SourceRule = (field: string, source: Source, volume: VolumeContext) => Faults;
