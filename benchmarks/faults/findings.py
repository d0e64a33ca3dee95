"""What an attack on the library and the campaigns found, and the tests that would find it again."""

from __future__ import annotations

# What was found, and the tests: file under tests/, and name.
Findings = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
OF_ATTACK: Findings = (
    (
        "Files that bring the process down: `.h5ad` with indices out of range, `.mtx` with a zero byte",
        (
            ("cli/test_limits.py", "test_cells_that_would_crash_the_process"),
            ("cli/test_limits.py", "test_a_matrix_with_a_zero_byte"),
        ),
    ),
    (
        "A kill while `--force` replaces a run loses the earlier one",
        (
            ("_utils/test_files.py", "test_a_folder_that_a_stopped_process_had_moved_away_is_put_back"),
            ("_utils/test_files.py", "test_the_old_folder_is_found_if_a_process_is_killed_between_two_steps"),
            ("_utils/test_files.py", "test_leftovers_of_stopped_processes_are_removed_and_no_others"),
        ),
    ),
    (
        "Fits in two threads leave BLAS limited to one thread",
        (("engines/test_local.py", "test_fits_in_several_threads_leave_the_limits_of_blas_as_they_were"),),
    ),
    (
        "Texts that are not UTF-8, and repeated names of columns, end in a traceback",
        (
            ("cli/test_check.py", "test_text_that_is_not_utf_8_in_a_column"),
            ("cli/test_check.py", "test_bytes_that_are_no_text"),
            ("cli/test_readers.py", "test_repeated_names_of_columns_are_refused_with_all_names"),
            ("cli/test_check.py", "test_names_that_are_no_text_are_refused_before_anything_is_done"),
        ),
    ),
    (
        "Small files that exhaust memory or time",
        (
            ("cli/test_limits.py", "test_one_cell_at_the_end_of_a_sheet"),
            ("cli/test_limits.py", "test_compressed_tables_that_unpack_to_too_much"),
            ("cli/test_limits.py", "test_a_long_name_of_a_column_is_not_printed"),
            ("interop/test_persistence.py", "test_a_file_that_unpacks_to_too_much_is_refused_before_it_is"),
        ),
    ),
    (
        "Dask partitions with columns in another order are fitted wrongly; errors that name nothing",
        (
            ("engines/test_dask_threads.py", "test_columns_of_partitions_are_matched_by_name"),
            ("engines/test_dask_threads.py", "test_what_is_wrong_in_a_partition_is_named"),
            ("engines/test_dask_threads.py", "test_the_partition_of_a_missing_task_is_named"),
        ),
    ),
    (
        "Overflow, and single precision far from zero",
        (
            ("estimators/test_bad_input.py", "test_numbers_out_of_range_are_refused_without_a_warning"),
            ("estimators/test_bad_input.py", "test_the_objective_of_single_precision_does_not_rise"),
        ),
    ),
    (
        "Labels of tasks that differ by a trailing zero character merge",
        (("estimators/test_bad_input.py", "test_labels_of_tasks_may_differ_by_a_zero_character"),),
    ),
    (
        "A refit that fails breaks a fitted model",
        (("estimators/test_bad_input.py", "test_a_fit_that_fails_leaves_the_model_as_it_was"),),
    ),
    (
        "Names that begin like formulas reach CSV files",
        (("cli/test_tables.py", "test_ids_and_names_are_no_formulas_unless_asked"),),
    ),
    (
        "Tampered models end in tracebacks",
        (
            ("interop/test_persistence.py", "test_contents_that_do_not_match_the_checksum_are_refused"),
            ("interop/test_persistence.py", "test_a_schema_that_lacks_a_part_is_refused"),
        ),
    ),
    (
        "The number of threads changes sums",
        (("engines/test_local.py", "test_results_do_not_depend_on_the_number_of_threads"),),
    ),
    (
        "The order of the rows changes the default fit on data without structure: said in the guide",
        (
            ("estimators/test_invariants.py", "test_the_order_of_rows_does_not_matter"),
            ("test_docs.py", "test_rows_in_another_order_are_like_another_seed"),
        ),
    ),
    (
        "Lowest versions do not install together, or fail tests",
        (("test_packaging.py", "test_the_lowest_versions_are_the_lower_bounds"),),
    ),
    (
        "Schedulers cannot be reached over TLS",
        (("cli/test_out_of_core.py", "test_a_scheduler_that_wants_certificates"),),
    ),
    (
        "Tests that hang on the clock",
        (
            ("cli/test_files.py", "test_an_interrupted_fit_leaves_nothing"),
            ("_utils/test_files.py", "test_an_interrupt_waits_until_the_end_of_the_block"),
            ("test_findings.py", "test_tests_wait_for_what_happens_and_not_for_a_time"),
        ),
    ),
)
OF_CAMPAIGNS: Findings = (
    (
        "Fault points, kills: a stop that arrives in a finalizer or during an import gets lost, or is an error",
        (
            ("cli/test_stopping.py", "test_a_stop_that_a_finalizer_swallows_comes_back"),
            ("cli/test_stopping.py", "test_an_output_does_not_take_its_place_after_a_stop_that_got_lost"),
            ("cli/test_stopping.py", "test_an_interrupt_within_exec_ends_with_the_code_of_a_stop"),
            ("cli/test_stopping.py", "test_a_stop_that_an_extension_module_made_another_error_of_is_a_stop"),
            ("cli/test_stopping.py", "test_signals_are_heeded_before_other_modules_are_imported"),
        ),
    ),
    (
        'Fault points: "nothing was written" is said although the output is in its place',
        (("cli/test_stopping.py", "test_a_stop_while_the_output_takes_its_place_is_told_with_the_output"),),
    ),
    (
        "Fault points: want of memory ends in a traceback of a library",
        (
            ("cli/test_stopping.py", "test_want_of_memory_is_told_where_a_library_made_another_error_of_it"),
            ("cli/test_stopping.py", "test_want_of_memory_in_a_finalizer_is_not_told_apart"),
        ),
    ),
    (
        "Readers: more `.mtx` files than those with zero bytes bring the process down",
        (("cli/test_probing.py", "test_a_file_that_brings_its_library_down_is_refused"),),
    ),
    (
        "Readers: a workbook that is damaged beside its rows is a bug at the end of a fit",
        (("cli/test_tables.py", "test_a_workbook_that_is_damaged_beside_its_rows"),),
    ),
    (
        "Readers: files that join a model were written again in the encoding of the first fit",
        (("cli/test_adapt.py", "test_new_files_may_have_an_encoding_of_their_own"),),
    ),
    (
        "Readers: models whose parts were exchanged for others, with a valid checksum, end in tracebacks",
        (
            ("interop/test_soundness.py", "test_parts_that_do_not_fit_are_named"),
            ("cli/test_wrong_uses.py", "test_models_of_other_parts_are_damaged"),
            ("cli/test_wrong_uses.py", "test_findings_that_cannot_be_read"),
        ),
    ),
    (
        "Readers: `.npz` files with characters that do not exist are a bug at the end of a fit",
        (("test_datasets.py", "test_characters_that_do_not_exist_are_refused"),),
    ),
    (
        "Estimators: weights that overflow in single precision, in which members may be fitted, warn",
        (("estimators/test_bad_input.py", "test_numbers_out_of_range_are_refused_without_a_warning"),),
    ),
    (
        "Estimators: equal rows, and such with missing values, end in a singular matrix",
        (
            ("estimators/test_bad_input.py", "test_equal_rows_with_missing_values"),
            ("estimators/test_bad_input.py", "test_rows_that_are_all_the_same"),
            ("estimators/test_bad_input.py", "test_rows_that_are_all_the_same_and_large"),
        ),
    ),
    (
        "Estimators: the objective rises in single precision if tasks lie far apart and losses are measured from 0",
        (("estimators/test_bad_input.py", "test_rows_of_single_precision_in_tasks_that_lie_far_apart"),),
    ),
    (
        "Estimators: the trace of the objective lacks the proportions of the clusters where rows are not selected",
        (("core/test_geometry.py", "test_the_objective_never_rises_with_rows_that_are_not_selected"),),
    ),
    (
        "Estimators: of clusters far apart in single precision the metric is no covariance",
        (
            ("core/test_geometry.py", "test_sums_that_are_rounding_errors_make_a_covariance_all_the_same"),
            ("core/test_covariances.py", "test_sums_that_are_rounding_errors_make_covariances_all_the_same"),
            ("estimators/test_bad_input.py", "test_the_metric_of_rows_in_single_precision_is_a_covariance"),
        ),
    ),
    (
        "Dask: a cluster without workers is waited for for ever",
        (("engines/test_dask_cluster.py", "test_a_cluster_without_workers_is_not_waited_for_for_ever"),),
    ),
    (
        "Dask: after a chunk could not be read, fits to the same chunks fail and the values of earlier models are lost",
        (
            (
                "engines/test_dask_cluster.py",
                "test_a_fit_can_be_repeated_while_a_model_of_the_same_chunks_lives",
            ),
        ),
    ),
    (
        "Dask: a client that is closed during a fit ends in an error of Dask about its graph",
        (("engines/test_dask_cluster.py", "test_results_on_a_cluster_that_a_graph_does_not_show"),),
    ),
)
OF_SECOND: Findings = (
    (
        "`--out --force` replaces a file that is read, or a file of a run",
        (
            ("cli/test_wrong_uses.py", "test_output_that_would_replace_an_input"),
            ("cli/test_wrong_uses.py", "test_output_that_would_damage_a_run"),
            ("cli/test_wrong_uses.py", "test_a_run_that_would_replace_what_it_reads"),
        ),
    ),
    (
        "The mask of masked arrays is ignored",
        (("estimators/test_bad_input.py", "test_masked_values_are_missing"),),
    ),
    (
        "Parquet columns of bytes and of lists end in a traceback",
        (
            ("cli/test_check.py", "test_bytes_that_are_no_text"),
            ("cli/test_check.py", "test_cells_that_are_no_single_values"),
        ),
    ),
    (
        "Dask frames of delayed parts cannot be fitted, and a partition that lacks or repeats a column is not named",
        (("engines/test_dask_threads.py", "test_what_is_wrong_in_a_partition_is_named"),),
    ),
    (
        "Values whose squares vanish end in errors of linear algebra, or in NaN; tables of large numbers in NaN",
        (
            ("estimators/test_bad_input.py", "test_values_whose_squares_vanish_are_refused"),
            ("cli/test_check.py", "test_numbers_whose_squares_overflow_are_named"),
        ),
    ),
    (
        "`partial_fit` takes weights that `fit` refuses",
        (("estimators/test_bad_input.py", "test_weights_of_rows_that_follow_are_checked_like_those_of_a_fit"),),
    ),
    (
        "Models with a valid checksum and NaN, negative sizes or repeated tasks are loaded",
        (("interop/test_soundness.py", "test_parts_that_do_not_fit_are_named"),),
    ),
    (
        "Limits on what files unpack to do not hold for `.bz2`, `.xz`, `.zst`, `.feather`, and columns of `.mtx`",
        (
            ("cli/test_limits.py", "test_tables_of_other_kinds_that_unpack_to_too_much"),
            ("cli/test_limits.py", "test_a_matrix_of_too_many_columns"),
        ),
    ),
    (
        "The centre of a cluster of one row is in the lines of other tasks of an anonymous result",
        (
            ("cli/test_tables.py", "test_the_centre_of_a_single_row_is_in_no_line_of_an_anonymous_result"),
            ("cli/test_tables.py", "test_a_task_that_joins_an_anonymous_result_has_no_ids"),
        ),
    ),
    (
        "Formulas behind blanks, new lines and in full-width signs reach CSV files",
        (("cli/test_tables.py", "test_texts_that_begin_like_formulas_are_quoted"),),
    ),
)
OF_RELATIONS: Findings = (
    (
        "The scale of weights changes labels where values or columns are missing",
        (("estimators/test_missing.py", "test_the_scale_of_weights_does_not_matter_where_values_are_missing"),),
    ),
    (
        "The scale of the weights of a fit changes which rows of a task that joins are new",
        (("estimators/test_adapt.py", "test_the_scale_of_weights_of_the_fit_does_not_change_what_is_new"),),
    ),
    (
        "Units of columns, and the order of rows, change labels of a task that joins with missing values",
        (
            (
                "estimators/test_adapt.py",
                "test_neither_the_order_of_the_rows_nor_the_units_of_the_columns_change_a_label",
            ),
        ),
    ),
    (
        "Rows of a task that joins a mixture are new at a small rate, and not at a larger one",
        (("estimators/test_mixture.py", "test_rows_that_are_new_at_a_small_rate_are_new_at_a_large_one"),),
    ),
    (
        "A data frame after a fit to an array in which tasks lack whole columns is a `KeyError`",
        (("estimators/test_columns.py", "test_frames_after_arrays_in_which_tasks_lack_columns"),),
    ),
    (
        "Output that is not UTF-8, or closed, is a bug; names steer the terminal; `--out=--` ends in a traceback",
        (
            ("cli/test_streams.py", "test_output_that_is_not_utf_8"),
            ("cli/test_streams.py", "test_streams_that_are_closed"),
            ("cli/test_streams.py", "test_names_do_not_steer_the_terminal"),
            ("cli/test_streams.py", "test_two_hyphens_are_a_value_behind_the_sign_of_equality"),
        ),
    ),
    (
        "Tasks of one row get labels that mean nothing, without a word",
        (("estimators/test_bad_input.py", "test_tasks_of_one_row_are_told"),),
    ),
    (
        "Columns whose names are empty or hold a zero byte, numbers near 2**62, columns without values in one file",
        (
            ("cli/test_odd_names.py", "test_a_zero_byte_in_the_name_of_a_column"),
            ("cli/test_odd_names.py", "test_a_nameless_column_is_refused"),
            ("cli/test_odd_names.py", "test_numbers_near_the_largest_whole_numbers"),
            ("cli/test_odd_names.py", "test_a_column_without_values_in_one_file"),
        ),
    ),
    (
        "Of names that are given at the same time one is lost; of two names of a cluster the last is taken",
        (
            ("cli/test_names.py", "test_names_that_are_given_at_the_same_time_are_all_kept"),
            ("cli/test_odd_names.py", "test_a_cluster_is_given_one_name"),
        ),
    ),
    (
        'A task named "(shared)", stop words that do not end, cells behind a semicolon, options that are ignored',
        (
            ("cli/test_odd_names.py", "test_a_task_that_is_called_like_the_shared_centres"),
            ("cli/test_odd_names.py", "test_a_file_of_stop_words_that_does_not_end"),
            ("cli/test_odd_names.py", "test_cells_behind_a_semicolon_are_no_formulas"),
            ("cli/test_odd_names.py", "test_numbers_of_clusters_are_needed_where_they_are_known_alone"),
            ("cli/test_odd_names.py", "test_certificates_need_a_scheduler"),
        ),
    ),
)
FINDINGS = OF_ATTACK + OF_CAMPAIGNS + OF_SECOND + OF_RELATIONS
