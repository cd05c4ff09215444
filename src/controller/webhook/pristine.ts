import { isObject } from '../../apimachinery/json.ts';
import type { KubeObject } from '../types.ts';
import { type AdmissionRequest, parseReview } from './review.ts';

/** The text of the reviews that requests come from: a handler may have written to the request's object. */
const texts = new WeakMap<AdmissionRequest, string>();

/** Records the text of the review that a request comes from. */
export const keepPristine = (request: AdmissionRequest, text: string): void => void texts.set(request, text);

/** True for a request that was received: its objects belong to who handles it. */
export const isPristine = (value: object): boolean => texts.has(value as AdmissionRequest);

/** Returns the request as it was received: parsed again, or the request itself when there is no text of it. */
export function pristineRequest(request: AdmissionRequest): AdmissionRequest {
  const text = texts.get(request);
  return text === undefined ? request : parseReview(text).request;
}

/** Returns the object of a request as it was received. */
export function pristineObject(request: AdmissionRequest): KubeObject | undefined {
  const { object } = pristineRequest(request);
  return isObject(object) ? object : undefined;
}
