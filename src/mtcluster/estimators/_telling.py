"""What a fitted model tells about itself, and what it can become elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from ..inspection import Relations, Report


class TellingMixin:
    """Methods that read public fitted attributes, through `inspection` and `interop`."""

    def explain(self, stability: Any = None) -> None:
        """Print what the fit decided from the data, and on what evidence; `decisions_` holds the same as numbers.

        Parameters
        ----------
        stability : Stability, optional
            Result of `mtcluster.model_selection.stability`: how sure one can be of the clusters.
        """
        check_is_fitted(self)
        from ..inspection import explain

        print(explain(self, stability))

    def relations(self) -> Relations:
        """Which task holds which cluster: shared, private, absent or uncertain, with the support and number of rows.

        Returns
        -------
        relations : Relations
            See `mtcluster.inspection.relations`; `print` shows it as a table, `relations.table` has it by columns.
        """
        check_is_fitted(self)
        from ..inspection import relations

        return relations(self)

    def report(
        self,
        *,
        X: Any = None,
        ids: Any = None,
        feature_names: Any = None,
        title: str | None = None,
        stability: Any = None,
        classes: Any = None,
        cluster_names: Any = None,
        anonymous: bool = False,
    ) -> Report:
        """The result as one HTML page: clusters by task, their features, a map, outliers, and what to try next.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n, d), optional
            The rows of the fit: adds distributions, effect sizes, features on the map, and why a row is an outlier.
        ids : sequence of n, optional
            Names of the rows. None: their numbers.
        feature_names : sequence of d, optional
            Names of the features. None: `feature_names_in_`, or their numbers.
        title : str, optional
            Title of the page.
        stability : Stability, optional
            Result of `mtcluster.model_selection.stability`: how sure one can be of the clusters.
        classes : sequence of n, optional
            Known classes, None where not known, for a table of classes and clusters.
        cluster_names : dict of int to str, optional
            Names of clusters.
        anonymous : bool, default=False
            Whether everything is left out that shows single rows.

        Returns
        -------
        report : Report
            Shown by a notebook; `report.save("report.html")` writes it, and `report.summary` is the same as a dict.
            `mtcluster.inspection.make_report` takes more: the user's units, cells of a table, how data were prepared.
        """
        check_is_fitted(self)
        from ..inspection import make_report

        names = {"feature_names": feature_names, "cluster_names": cluster_names}
        told = {"title": title, "stability": stability, "classes": classes, "anonymous": anonymous}
        return make_report(self, X=X, ids=ids, **names, **told)

    def to_kmeans(self, task: Any = None) -> Any:
        """A fitted `KMeans` that labels the rows of one task as this model does, for use elsewhere.

        Labels are exact for binary memberships, unless there are about as many clusters as features or more and tasks
        share only in part, in which case a warning says so. Centres are those of the model up to a common shift, so
        distances to them are not the model's losses.

        Parameters
        ----------
        task : label of a task, optional
            The task whose rows it labels. None: as `predict` does without `tasks`, by the shared centres; after a fit
            of one task, by that one.

        Returns
        -------
        kmeans : KMeans
            Fitted, in the floating type of this model; cluster numbers are the same.
        """
        check_is_fitted(self)
        from ..interop import to_kmeans

        return to_kmeans(self, task)
