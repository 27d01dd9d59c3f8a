// Request fields of engines and services in addition to those of OpenAI, from their sources and documentation. They are known, so that they
// are not reported as misspelt; `engines/upstream/request/request-members.ts` decides which of them a server gets.

/** Fields of vLLM, also of earlier versions. */
const vllm = `use_beam_search length_penalty stop_token_ids include_stop_str_in_output ignore_eos min_tokens skip_special_tokens
  spaces_between_special_tokens truncate_prompt_tokens truncation_side prompt_logprobs logprob_token_ids allowed_token_ids bad_words
  watermarking add_special_tokens structured_outputs priority request_id session_id return_tokens_as_token_ids return_token_ids
  return_token_offsets return_prompt_text return_mm_kwargs routed_experts_prompt_start cache_salt kv_transfer_params ec_transfer_params
  vllm_xargs repetition_detection stream_interval logits_processors guided_json guided_regex guided_choice guided_grammar
  structural_tag guided_decoding_backend guided_whitespace_pattern`;

const sglang = `regex ebnf json_schema stop_regex no_stop_trim lora_path session_params custom_params custom_logit_processor
  images_config return_hidden_states return_routed_experts routed_experts_start_len return_cached_tokens_details
  return_prompt_token_ids return_meta_info rid extra_key ngram_corpus_id custom_labels bootstrap_host bootstrap_port bootstrap_room
  routed_dp_rank disagg_prefill_dp_rank data_parallel_rank`;

const llamaServer = `typical_p top_n_sigma xtc_probability xtc_threshold dynatemp_range dynatemp_exponent repeat_last_n dry_multiplier
  dry_base dry_allowed_length dry_penalty_last_n dry_sequence_breakers mirostat mirostat_tau mirostat_eta adaptive_target
  adaptive_decay penalize_nl n_predict n_keep n_discard n_indent n_cmpl n_probs min_keep samplers grammar grammar_lazy
  grammar_triggers preserved_tokens cache_prompt id_slot t_max_predict_ms post_sampling_probs return_tokens return_progress
  timings_per_token response_fields lora backend_sampling speculative.n_max speculative.n_min speculative.p_min speculative.type`;

const ollama = 'options keep_alive format';

/** Fields of hosted services, for routing, caches and safety. */
const hosted = `provider providers models route transforms plugins preset usage trace debug safe_prompt random_seed guardrails
  context_length_exceeded_behavior prompt_truncate_len prompt_cache_isolation_key raw_output perf_metrics_in_response safety_model
  compliance repetition_detection top_a mirostat_target mirostat_lr extra_body`;

/** Generation fields of chat and text completions. */
export const engineFields = [vllm, sglang, llamaServer, ollama, hosted];

/** Fields about the rendering of chats, tools and reasoning. */
export const chatEngineFields = [
  `chat_template chat_template_kwargs add_generation_prompt continue_final_message echo documents media_io_kwargs mm_processor_kwargs
  include_reasoning thinking_token_budget best_of`,
  `separate_reasoning stream_reasoning max_dynamic_patch min_dynamic_patch use_audio_in_video input_ids task tool_call_constraint`,
  `reasoning_format reasoning_in_content reasoning_control thinking_forced_open parse_tool_calls force_pure_content input_prefix`,
  'think',
  `reasoning thinking reasoning_history enable_thinking thinking_budget preserve_thinking disable_reasoning clear_thinking do_sample
  tool_stream prompt_mode enable_search search_options search_parameters search_settings search_mode search_domain_filter
  search_recency_filter return_images return_related_questions translation_options asr_options vl_high_resolution_images
  result_format incremental_output deferred citation_options disable_tool_validation compound_custom include_domains exclude_domains
  image_config cache_control`,
];

export const embeddingEngineFields = [
  `truncate_prompt_tokens truncation_side add_special_tokens priority normalize use_activation embed_dtype endianness request_id
  cache_salt messages chat_template chat_template_kwargs add_generation_prompt continue_final_message mm_processor_kwargs
  media_io_kwargs`,
  'rid lora_path custom_labels embd_normalize embedding_overrides',
  'truncate keep_alive options',
  `task late_chunking embedding_type normalized input_type truncation output_dimension output_dtype embedding_types text_type
  output_type instruct provider return_multivector extra_body`,
];

/** Fields of requests for rankings and scores. */
export const scoringEngineFields = [
  `truncate_prompt_tokens truncation_side max_tokens_per_query max_tokens_per_doc use_activation priority request_id cache_salt
  mm_processor_kwargs chat_template chat_template_kwargs`,
  'truncation truncate rid provider extra_body',
];
