import type { KubeObject } from './types.ts';

/** What an Event may carry besides its text. */
export interface EventDetails {
  /** The part of the object that it is about, e.g. `spec.containers{web}` (R281). */
  readonly fieldPath?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Tells the API server's readers what happened. Returns at once; delivery, aggregation and limits are the recorder's (R281). */
export interface EventRecorder {
  /** @param object what the event is about: kind, namespace, name and uid are read from it */

  event(
    object: KubeObject,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
    details?: EventDetails,
  ): void;
}
