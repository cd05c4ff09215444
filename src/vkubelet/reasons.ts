/** Reasons of the events that tell which reference of a pod's environment could not be resolved. Values are virtual-kubelet's. */

/** An optional config map is not there; the pod runs without it. */
export const ReasonOptionalConfigMapNotFound = 'OptionalConfigMapNotFound';
/** An optional key is not in its config map. */
export const ReasonOptionalConfigMapKeyNotFound = 'OptionalConfigMapKeyNotFound';
/** An optional config map could not be read. */
export const ReasonFailedToReadOptionalConfigMap = 'FailedToReadOptionalConfigMap';
/** An optional secret is not there; the pod runs without it. */
export const ReasonOptionalSecretNotFound = 'OptionalSecretNotFound';
/** An optional key is not in its secret. */
export const ReasonOptionalSecretKeyNotFound = 'OptionalSecretKeyNotFound';
/** An optional secret could not be read. */
export const ReasonFailedToReadOptionalSecret = 'FailedToReadOptionalSecret';
/** A config map that the pod needs is not there; the pod waits for it. */
export const ReasonMandatoryConfigMapNotFound = 'MandatoryConfigMapNotFound';
/** A key that the pod needs is not in its config map. */
export const ReasonMandatoryConfigMapKeyNotFound = 'MandatoryConfigMapKeyNotFound';
/** A config map that the pod needs could not be read. */
export const ReasonFailedToReadMandatoryConfigMap = 'FailedToReadMandatoryConfigMap';
/** A secret that the pod needs is not there; the pod waits for it. */
export const ReasonMandatorySecretNotFound = 'MandatorySecretNotFound';
/** A key that the pod needs is not in its secret. */
export const ReasonMandatorySecretKeyNotFound = 'MandatorySecretKeyNotFound';
/** A secret that the pod needs could not be read. */
export const ReasonFailedToReadMandatorySecret = 'FailedToReadMandatorySecret';
/** Keys of an `envFrom` are no names of variables and are left out. */
export const ReasonInvalidEnvironmentVariableNames = 'InvalidEnvironmentVariableNames';
